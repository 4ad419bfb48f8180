// ops/loss/triplet.cc
//
// triplet(anchor, positive, negative): the anchor should be closer to the positive than to the
// negative, by a margin.

#include "catamaran/ops/loss/loss.h"

// reference-begin
namespace catamaran::reference {

struct TripletSizes {
  int64_t rows, width;
  double margin, eps;
};

template <class T>
double TripletDistance(const T* a, const T* b, const TripletSizes& s) {
  double sum = 0;
  for (int64_t i = 0; i < s.width; ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]) + s.eps;
    sum += d * d;
  }
  return std::sqrt(sum);
}

template <class T>
void Triplet(const T* anchor, const T* positive, const T* negative, T* y, const TripletSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t at = r * s.width;
    const double lack = TripletDistance(anchor + at, positive + at, s) -
                        TripletDistance(anchor + at, negative + at, s) + s.margin;
    y[r] = static_cast<T>(lack <= 0 ? 0.0 : lack);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunTriplet(KernelContext& c) {
  const reference::TripletSizes& fixed = c.sizes<reference::TripletSizes>();
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        Split(c.pool, RowCount(c, 0), 6 * fixed.width, [&](int64_t begin, int64_t end) {
          reference::TripletSizes s = fixed;
          s.rows = end - begin;
          const int64_t at = begin * s.width;
          reference::Triplet(c.in(0).data<T>() + at, c.in(1).data<T>() + at, c.in(2).data<T>() + at,
                             c.out().data<T>() + begin, s);
        });
      },
      "triplet");
  return KernelStatus::kDone;
}

}  // namespace

void DefineTriplet(OpSet& ops) {
  ops.Define("triplet")
      .Group("loss")
      .Doc(
          "For each row how much the Euclidean distance of anchor and positive exceeds that of "
          "anchor and negative less a margin; 0 where it does not. eps is added to each "
          "difference, so that equal rows have a gradient.")
      .Formula("y[n] = max(0, |a[n] - p[n] + eps| - |a[n] - q[n] + eps| + margin)")
      .In("anchor", "[…, D]")
      .In("positive", "as anchor")
      .In("negative", "as anchor")
      .WithAttr("margin", AttrKind::kFloat, 1.0, "how much closer is enough")
      .WithAttr("eps", AttrKind::kFloat, 1e-6, "keeps distances from 0")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (WantScores(c, 0) && c.UnifyTypes(c.type(0), c.type(1), "anchor and positive") &&
            c.UnifyTypes(c.type(0), c.type(2), "anchor and negative")) {
          c.SetResult(WithoutLastAxis(c.type(0)));
        }
      })
      .Sizes("TripletSizes",
             [](const KernelQuery& q, Words& words) {
               const int64_t width = LastDim(*q.in[0]);
               words << RowsOf(*q.in[0], width) << width << q.op->attr("margin").AsDouble()
                     << q.op->attr("eps").AsDouble();
             })
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const double eps = c.attr("eps").AsDouble();
        // The unit vector from b to the anchor.
        const auto direction = [&](Var b) {
          const Var difference = c.operand(0) - b + eps;
          return difference * e.Emit("rsqrt", {RowSum(e.Emit("square", {difference}))});
        };
        const Var active = c.result() > 0.0;
        const Var none = e.Constant(0.0, c.grad().type().dtype());
        const Var g = AsColumn(e.Emit("where", {active, c.grad(), none}));
        const Var to_positive = g * direction(c.operand(1));
        const Var to_negative = g * direction(c.operand(2));
        if (c.wanted(0)) c.SetGrad(0, to_positive - to_negative);
        if (c.wanted(1)) c.SetGrad(1, -to_positive);
        if (c.wanted(2)) c.SetGrad(2, to_negative);
      })
      .Reference("Triplet", RunTriplet)
      .AddSample({.inputs = {Floats({2, 2}, {0, 0, 1, 1}), Floats({2, 2}, {3, 4, 1, 2}),
                             Floats({2, 2}, {0, 1, 5, 4})}})
      .AddSample({.inputs = {Uniform({3, 2, 5}, -1, 1), Uniform({3, 2, 5}, -1, 1, 2),
                             Uniform({3, 2, 5}, -1, 1, 3)},
                  .attrs = {{"margin", 0.2}, {"eps", 1e-3}}})
      .AddSample({.inputs = {Uniform({4}, -1, 1), Uniform({4}, -1, 1, 2), Uniform({4}, -1, 1, 3)}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3}), Empty({0, 3})}})
      .AddSample(
          {.inputs = {Floats({1, 2}, {NAN, 0}), Floats({1, 2}, {1, 0}), Floats({1, 2}, {1, 0})},
           .check_gradient = false})
      .AddSample(
          {.inputs = {Uniform({5, 3}, -1, 1), Uniform({5, 3}, -1, 1, 2), Uniform({5, 3}, -1, 1, 3)},
           .ragged_lengths = {{2, 0, 3}, {2, 0, 3}, {2, 0, 3}}});
}

}  // namespace catamaran

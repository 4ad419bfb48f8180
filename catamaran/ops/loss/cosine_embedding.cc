// ops/loss/cosine_embedding.cc
//
// cosine_embedding(a, b, target): pairs should point the same way, or not.

#include "catamaran/ops/loss/loss.h"

// reference-begin
namespace catamaran::reference {

struct CosineEmbeddingSizes {
  int64_t rows, width;
  double margin, eps;
};

template <class T>
void CosineEmbedding(const T* a, const T* b, const T* target, T* y, const CosineEmbeddingSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, a += s.width, b += s.width) {
    double aa = s.eps, bb = s.eps, ab = 0;
    for (int64_t i = 0; i < s.width; ++i) {
      const double x = static_cast<double>(a[i]), z = static_cast<double>(b[i]);
      aa += x * x;
      bb += z * z;
      ab += x * z;
    }
    const double cosine = ab / std::sqrt(aa * bb);
    const double over = cosine - s.margin;
    y[r] = static_cast<T>(target[r] > T(0) ? 1 - cosine : over <= 0 ? 0.0 : over);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunCosineEmbedding(KernelContext& c) {
  const reference::CosineEmbeddingSizes& fixed = c.sizes<reference::CosineEmbeddingSizes>();
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        Split(c.pool, RowCount(c, 0), 6 * fixed.width, [&](int64_t begin, int64_t end) {
          reference::CosineEmbeddingSizes s = fixed;
          s.rows = end - begin;
          const int64_t at = begin * s.width;
          reference::CosineEmbedding(c.in(0).data<T>() + at, c.in(1).data<T>() + at,
                                     c.in(2).data<T>() + begin, c.out().data<T>() + begin, s);
        });
      },
      "cosine_embedding");
  return KernelStatus::kDone;
}

void GradOfCosineEmbedding(GradContext& c) {
  if (!c.wanted(0) && !c.wanted(1)) return;
  Emitter& e = c.emit();
  const double eps = c.attr("eps").AsDouble();
  const Var a = c.operand(0), b = c.operand(1), target = c.operand(2), g = c.grad();
  const Var none = e.Constant(0.0, g.type().dtype());
  const Var per_a = 1.0 / (RowSum(e.Emit("square", {a})) + eps);
  const Var per_b = 1.0 / (RowSum(e.Emit("square", {b})) + eps);
  const Var scale = e.Emit("sqrt", {per_a * per_b});
  const Var cosine = RowSum(a * b) * scale;
  // What arrives at the cosine of each row.
  const Var apart = e.Emit("where", {c.result() > 0.0, g, none});
  const Var arrives = AsColumn(e.Emit("where", {target > 0.0, -g, apart}));
  if (c.wanted(0)) c.SetGrad(0, arrives * (b * scale - a * (cosine * per_a)));
  if (c.wanted(1)) c.SetGrad(1, arrives * (a * scale - b * (cosine * per_b)));
}

}  // namespace

void DefineCosineEmbedding(OpSet& ops) {
  ops.Define("cosine_embedding")
      .Group("loss")
      .Doc(
          "For each pair of rows 1 less their cosine where target is 1, and what the cosine "
          "exceeds "
          "a margin by where it is -1 (or anything not positive). eps is added to the squares of "
          "the norms, so that a row of zeros has the cosine 0. The target has no gradient.")
      .Formula("y[n] = target[n] > 0 ? 1 - cos(a[n], b[n]) : max(0, cos(a[n], b[n]) - margin)")
      .In("a", "[…, D]")
      .In("b", "as a")
      .In("target", "[…]: 1 or -1")
      .Label("target", {.low = -1, .high = 1})
      .WithAttr("margin", AttrKind::kFloat, 0.0, "the cosine that pairs apart may have")
      .WithAttr("eps", AttrKind::kFloat, 1e-12, "added to the squares of the norms")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (WantScores(c, 0) && c.UnifyTypes(c.type(0), c.type(1), "a and b") &&
            WantRowGradient(c, 0, 2)) {
          c.SetResult(WithoutLastAxis(c.type(0)));
        }
      })
      .Sizes("CosineEmbeddingSizes",
             [](const KernelQuery& q, Words& words) {
               const int64_t width = LastDim(*q.in[0]);
               words << RowsOf(*q.in[0], width) << width << q.op->attr("margin").AsDouble()
                     << q.op->attr("eps").AsDouble();
             })
      .Grad(GradOfCosineEmbedding)
      .Reference("CosineEmbedding", RunCosineEmbedding)
      .AddSample({.inputs = {Floats({2, 2}, {1, 0, 3, 4}), Floats({2, 2}, {1, 1, 4, 3}),
                             Floats({2}, {1, -1})}})
      .AddSample({.inputs = {Uniform({3, 2, 5}, -1, 1), Uniform({3, 2, 5}, -1, 1, 2),
                             Floats({3, 2}, {1, -1, 1, -1, -1, -1})},
                  .attrs = {{"margin", -0.5}, {"eps", 0.01}}})
      .AddSample({.inputs = {Uniform({4}, -1, 1), Uniform({4}, -1, 1, 2), Floats({}, {1})}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3}), Empty({0})}})
      .AddSample({.inputs = {Floats({2, 2}, {NAN, 0, 0, 0}), Floats({2, 2}, {1, 0, 1, 0}),
                             Floats({2}, {-1, 1})},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Uniform({5, 3}, -1, 1, 2),
                             Floats({5}, {1, -1, 1, 1, -1})},
                  .ragged_lengths = {{2, 0, 3}, {2, 0, 3}, {2, 0, 3}}});
}

}  // namespace catamaran

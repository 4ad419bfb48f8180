// ops/loss/nll.cc
//
// nll(log_probs, labels): minus the logarithm of the probability of the right class, where the
// logarithms are given.

#include "catamaran/ops/loss/loss.h"

// reference-begin
namespace catamaran::reference {

struct NllSizes {
  int64_t rows, width, ignored;
};

// `weights` may be null: all 1.
template <class T, class I>
void Nll(const T* log_probs, const I* labels, const T* weights, T* y, const NllSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, log_probs += s.width) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    y[r] = T(0);
    if (label != s.ignored) y[r] = -log_probs[label] * (weights ? weights[label] : T(1));
  }
}
template <class T, class I>
void Nll(const T* log_probs, const I* labels, T* y, const NllSizes& s) {
  Nll(log_probs, labels, static_cast<const T*>(nullptr), y, s);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunNll(KernelContext& c) {
  reference::NllSizes s = c.sizes<reference::NllSizes>();
  s.rows = RowCount(c, 0);
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        CheckLabels(c.in(1).data<I>(), s.rows, s.width, s.ignored);
        DispatchFloating(
            c.in(0).tensor.dtype,
            [&]<class T>(T) {
              reference::Nll(c.in(0).data<T>(), c.in(1).data<I>(), OptionalData<T>(c, 2),
                             c.out().data<T>(), s);
            },
            "nll");
      },
      "nll");
  return KernelStatus::kDone;
}

}  // namespace

void DefineNll(OpSet& ops) {
  ops.Define("nll")
      .Group("loss")
      .Doc(
          "For each row minus the logarithm of the probability of its label. nll(log_softmax(x), "
          "labels) is softmax_cross_entropy(x, labels), which is faster. A label that is no class "
          "is an error.")
      .Formula("y[n] = -weights[labels[n]] log_probs[n, labels[n]]")
      .In("log_probs", "[…, C]")
      .In("labels", "integers […], each in [0, C)")
      .Label("labels", {.low = 0, .classes_of = 0})
      .OptionalIn("weights", "[C]: how much each class counts; 1 where left out")
      .OptionalAttr("ignore_index", AttrKind::kInt, "rows with this label count nothing")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (WantScores(c, 0) && WantClasses(c, 0, 1) && WantClassWeights(c, 0, 2)) {
          c.SetResult(WithoutLastAxis(c.type(0)));
        }
      })
      .Sizes("NllSizes",
             [](const KernelQuery& q, Words& words) {
               const int64_t width = LastDim(*q.in[0]);
               words << RowsOf(*q.in[0], width) << width << IgnoredLabel(*q.op);
             })
      .Grad([](GradContext& c) {
        std::vector<NamedAttr> attrs;
        if (!c.attr("ignore_index").empty()) attrs = {{"ignore_index", c.attr("ignore_index")}};
        const Var chosen = c.emit().Emit("smooth_labels", {c.operand(1), c.operand(0)}, attrs);
        const Var grad = chosen * AsColumn(-c.grad());
        if (c.wanted(0)) c.SetGrad(0, c.has_operand(2) ? grad * c.operand(2) : grad);
        if (c.has_operand(2) && c.wanted(2)) {
          c.SetGrad(2, c.SumTo(grad * c.operand(0), c.operand(2)));
        }
      })
      .Reference("Nll", RunNll)
      .AddSample({.inputs = {Floats({2, 3}, {-1, -2, -0.5, -3, -0.25, -2}), Ints({2}, {2, 1})}})
      .AddSample({.inputs = {Uniform({4, 5}, -3, 0), Ints({4}, {4, 0, 2, 0}, DType::kI32),
                             Uniform({5}, 0, 2, 2)},
                  .attrs = {{"ignore_index", 0}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -3, 0), RandomInts({2, 3}, 0, 4, DType::kU64)}})
      .AddSample({.inputs = {Uniform({4}, -3, 0), Ints({}, {3})}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Floats({2, 2}, {-INFINITY, NAN, NAN, -1}), Ints({2}, {0, 1})},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({6, 3}, -3, 0), RandomInts({6}, 0, 3)},
                  .ragged_lengths = {{2, 0, 4}, {2, 0, 4}},
                  .note = "ragged"});
}

}  // namespace catamaran

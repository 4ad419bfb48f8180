// ops/loss/softmax_focal.cc
//
// softmax_focal(logits, labels): softmax_cross_entropy with less weight for what is right already.

#include "catamaran/ops/loss/loss.h"
#include "catamaran/ops/loss/softmax_cross_entropy_reference.h"

// reference-begin
namespace catamaran::reference {

struct SoftmaxFocalSizes {
  int64_t rows, width, ignored;
  double gamma;
};

// `weights` may be null: all 1.
template <class T, class I>
void SoftmaxFocal(const T* logits, const I* labels, const T* weights, T* y,
                  const SoftmaxFocalSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, logits += s.width) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    y[r] = T(0);
    if (label == s.ignored) continue;
    const double loss = static_cast<double>(LossLogSumExp(logits, s.width) - logits[label]);
    const double focus = std::pow(-std::expm1(-loss), s.gamma);
    y[r] = static_cast<T>(focus * loss * (weights ? static_cast<double>(weights[label]) : 1.0));
  }
}
template <class T, class I>
void SoftmaxFocal(const T* logits, const I* labels, T* y, const SoftmaxFocalSizes& s) {
  SoftmaxFocal(logits, labels, static_cast<const T*>(nullptr), y, s);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::SoftmaxFocalSizes;

KernelStatus RunSoftmaxFocal(KernelContext& c) {
  const SoftmaxFocalSizes& fixed = c.sizes<SoftmaxFocalSizes>();
  const int64_t rows = RowCount(c, 0);
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        CheckLabels(c.in(1).data<I>(), rows, fixed.width, fixed.ignored);
        DispatchFloating(
            c.in(0).tensor.dtype,
            [&]<class T>(T) {
              Split(c.pool, rows, 20 * fixed.width, [&](int64_t begin, int64_t end) {
                SoftmaxFocalSizes s = fixed;
                s.rows = end - begin;
                reference::SoftmaxFocal(c.in(0).data<T>() + begin * s.width,
                                        c.in(1).data<I>() + begin, OptionalData<T>(c, 2),
                                        c.out().data<T>() + begin, s);
              });
            },
            "softmax_focal");
      },
      "softmax_focal");
  return KernelStatus::kDone;
}

// y = f(loss) with the cross entropy `loss`, so the gradient is that of the cross entropy for
// dy f'(loss).
void GradOfSoftmaxFocal(GradContext& c) {
  Emitter& e = c.emit();
  const Var logits = c.operand(0), labels = c.operand(1);
  const Var weights = c.has_operand(2) ? c.operand(2) : Var();
  std::vector<NamedAttr> attrs;
  if (!c.attr("ignore_index").empty()) attrs = {{"ignore_index", c.attr("ignore_index")}};
  const double gamma = c.attr("gamma").AsDouble();
  const DType dtype = logits.type().dtype();
  const Var loss = e.Emit("softmax_cross_entropy", {logits, labels}, attrs);
  const Var p = e.Emit("exp", {-loss});
  const Var wrong = 1.0 - p;
  const auto power = [&](double exponent) {
    return e.Emit("pow", {wrong, e.Constant(exponent, dtype)});
  };
  if (c.wanted(0)) {
    Var slope = gamma == 0 ? OnesLike(loss) : power(gamma) + loss * p * power(gamma - 1) * gamma;
    c.SetGrad(0, e.Emit("softmax_cross_entropy_grad", {logits, labels, c.grad() * slope, weights},
                        attrs));
  }
  if (weights && c.wanted(2)) {
    const Var chosen = e.Emit("smooth_labels", {labels, logits}, attrs);
    const Var each = gamma == 0 ? loss : power(gamma) * loss;
    c.SetGrad(2, c.SumTo(chosen * AsColumn(c.grad() * each), weights));
  }
}

}  // namespace

void DefineSoftmaxFocal(OpSet& ops) {
  ops.Define("softmax_focal")
      .Group("loss")
      .Doc(
          "The focal loss over classes: softmax_cross_entropy times (1 - p)^gamma, where p is the "
          "probability of the label. A label that is no class is an error.")
      .Formula(
          "y[n] = weights[l] (1 - p[n, l])^gamma (-log(p[n, l])), p = softmax(logits), l = "
          "labels[n]")
      .In("logits", "[…, C]")
      .In("labels", "integers […], each in [0, C)")
      .Label("labels", {.low = 0, .classes_of = 0})
      .OptionalIn("weights", "[C]: how much each class counts; 1 where left out")
      .WithAttr("gamma", AttrKind::kFloat, 2.0,
                "how much less what is right already counts: 0 (not less) or at least 1")
      .OptionalAttr("ignore_index", AttrKind::kInt, "rows with this label count nothing")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        const double gamma = c.op().attr("gamma").AsDouble();
        if (gamma != 0 && !(gamma >= 1)) return (void)c.Fail("gamma is 0 or at least 1");
        if (WantScores(c, 0) && WantClasses(c, 0, 1) && WantClassWeights(c, 0, 2)) {
          c.SetResult(WithoutLastAxis(c.type(0)));
        }
      })
      .Sizes("SoftmaxFocalSizes",
             [](const KernelQuery& q, Words& words) {
               const int64_t width = LastDim(*q.in[0]);
               words << RowsOf(*q.in[0], width) << width << IgnoredLabel(*q.op)
                     << q.op->attr("gamma").AsDouble();
             })
      .Grad(GradOfSoftmaxFocal)
      .Reference("SoftmaxFocal", RunSoftmaxFocal)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 0, 0, 0}), Ints({2}, {2, 0})}})
      .AddSample({.inputs = {Uniform({4, 5}, -2, 2), Ints({4}, {4, 0, 2, 0}, DType::kI32),
                             Uniform({5}, 0.1, 2, 2)},
                  .attrs = {{"ignore_index", 0}, {"gamma", 1.5}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -2, 2), RandomInts({2, 3}, 0, 4)},
                  .attrs = {{"gamma", 0.0}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Floats({2, 2}, {NAN, 1, 1000, -1000}), Ints({2}, {0, 0})},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), RandomInts({6}, 0, 3)},
                  .ragged_lengths = {{2, 0, 4}, {2, 0, 4}}});
}

}  // namespace catamaran

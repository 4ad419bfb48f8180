// ops/loss/softmax_cross_entropy.cc
//
// softmax_cross_entropy(logits, labels): minus the logarithm of the probability that softmax gives
// to the right class, or to a distribution over classes; its gradient as an op; and smooth_labels,
// the distribution that labels stand for.

#include "catamaran/ops/loss/cross_entropy_isa.h"
#include "catamaran/ops/loss/loss.h"
#include "catamaran/ops/loss/softmax_cross_entropy_reference.h"

namespace catamaran {
namespace {

using reference::CrossEntropySizes;

// Calls f(T, L) with the type of the scores (operand `scores`) and that of the labels: T again
// where they are weights of classes.
template <class F>
void ForTypes(const KernelContext& c, int scores, int labels, F&& f) {
  const DType label_type = c.in(labels).tensor.dtype;
  DispatchFloating(
      c.in(scores).tensor.dtype,
      [&]<class T>(T) {
        if (IsFloat(label_type)) {
          f(T{}, T{});
        } else {
          DispatchIndex(
              label_type, [&]<class I>(I) { f(T{}, I{}); }, "softmax_cross_entropy");
        }
      },
      "softmax_cross_entropy");
}

CrossEntropySizes RunSizes(const KernelContext& c, int scores) {
  CrossEntropySizes s = c.sizes<CrossEntropySizes>();
  s.rows = RowCount(c, scores);
  return s;
}

template <class L>
void CheckClasses(const L* labels, const CrossEntropySizes& s) {
  if constexpr (std::is_integral_v<L>) CheckLabels(labels, s.rows, s.width, s.ignored);
}

KernelStatus LossReference(KernelContext& c) {
  const CrossEntropySizes s = RunSizes(c, 0);
  ForTypes(c, 0, 1, [&]<class T, class L>(T, L) {
    CheckClasses(c.in(1).data<L>(), s);
    reference::SoftmaxCrossEntropy(c.in(0).data<T>(), c.in(1).data<L>(), OptionalData<T>(c, 2),
                                   c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

KernelStatus GradReference(KernelContext& c) {
  const CrossEntropySizes s = RunSizes(c, 0);
  ForTypes(c, 0, 1, [&]<class T, class L>(T, L) {
    CheckClasses(c.in(1).data<L>(), s);
    reference::SoftmaxCrossEntropyGrad(c.in(0).data<T>(), c.in(1).data<L>(), c.in(2).data<T>(),
                                       OptionalData<T>(c, 3), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

KernelStatus LabelsReference(KernelContext& c) {
  const CrossEntropySizes s = RunSizes(c, 1);
  ForTypes(c, 1, 0, [&]<class T, class L>(T, L) {
    CheckClasses(c.in(0).data<L>(), s);
    reference::SmoothLabels(c.in(0).data<L>(), c.in(1).data<T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

Kernel VectorRows(KernelFn run) { return CrossEntropyKernel("vector", run, IsF32); }

CrossEntropyTargets TargetsOf(const CrossEntropySizes& s, const float* weights) {
  return {nullptr, weights, static_cast<float>(1 - s.smoothing),
          static_cast<float>(s.smoothing / static_cast<double>(s.width))};
}

template <class L>
void LossRows(const KernelContext& c, const CrossEntropySizes& s, int64_t begin, int64_t end) {
  const CrossEntropyKernels& k = CrossEntropyKernelsOf(c);
  const float* weights = OptionalData<float>(c, 2);
  const L* labels = c.in(1).data<L>();
  CrossEntropyTargets targets = TargetsOf(s, weights);
  for (int64_t r = begin; r < end; ++r) {
    const float* x = c.in(0).data<float>() + r * s.width;
    float& y = c.out().data<float>()[r];
    if constexpr (std::is_same_v<L, float>) {
      targets.labels = labels + r * s.width;
      const CrossEntropyRow row = k.log_sum_exp(x, s.width);
      y = k.loss(x, targets, row.max + row.log_sum, s.width);
    } else {
      const int64_t label = static_cast<int64_t>(labels[r]);
      y = 0.0f;
      if (label == s.ignored) continue;
      const CrossEntropyRow row = k.log_sum_exp(x, s.width);
      const float total = row.max + row.log_sum;
      const float own = targets.keep * (weights ? weights[label] : 1.0f);
      if (own != 0.0f) y = own * (total - x[label]);
      if (targets.spread == 0.0f) continue;
      // The sum of total - x, from what is known.
      y += weights ? k.loss(x, targets, total, s.width)
                   : targets.spread * (static_cast<float>(s.width) * row.log_sum - row.below);
    }
  }
}

template <class L>
void GradRows(const KernelContext& c, const CrossEntropySizes& s, int64_t begin, int64_t end) {
  const CrossEntropyKernels& k = CrossEntropyKernelsOf(c);
  const float* weights = OptionalData<float>(c, 3);
  const L* labels = c.in(1).data<L>();
  CrossEntropyTargets targets = TargetsOf(s, weights);
  // Without soft labels the evenly spread part is the same in every row.
  const float spread = targets.spread == 0.0f ? 0.0f : k.mass(targets, s.width);
  for (int64_t r = begin; r < end; ++r) {
    const float* x = c.in(0).data<float>() + r * s.width;
    const float dy = c.in(2).data<float>()[r];
    float* dx = c.out().data<float>() + r * s.width;
    float own = 0.0f, mass = 0.0f;
    int64_t label = 0;
    if constexpr (std::is_same_v<L, float>) {
      targets.labels = labels + r * s.width;
      mass = k.mass(targets, s.width);
    } else {
      label = static_cast<int64_t>(labels[r]);
      if (label != s.ignored) {
        own = targets.keep * (weights ? weights[label] : 1.0f);
        mass = own + spread;
      }
    }
    if (mass == 0.0f) {
      std::fill_n(dx, s.width, 0.0f);
    } else {
      k.softmax(x, dy * mass, dx, s.width);
    }
    if constexpr (std::is_same_v<L, float>) {
      k.subtract(targets, dy, dx, s.width);
    } else if (label != s.ignored) {
      dx[label] -= dy * own;
      if (targets.spread != 0.0f) k.subtract(targets, dy, dx, s.width);
    }
  }
}

KernelStatus LossVector(KernelContext& c) {
  const CrossEntropySizes s = RunSizes(c, 0);
  ForTypes(c, 0, 1, [&]<class T, class L>(T, L) {
    CheckClasses(c.in(1).data<L>(), s);
    if constexpr (std::is_same_v<T, float>) {
      Split(c.pool, s.rows, 4 * s.width, [&](int64_t b, int64_t e) { LossRows<L>(c, s, b, e); });
    }
  });
  return KernelStatus::kDone;
}
KernelStatus GradVector(KernelContext& c) {
  const CrossEntropySizes s = RunSizes(c, 0);
  ForTypes(c, 0, 1, [&]<class T, class L>(T, L) {
    CheckClasses(c.in(1).data<L>(), s);
    if constexpr (std::is_same_v<T, float>) {
      Split(c.pool, s.rows, 5 * s.width, [&](int64_t b, int64_t e) { GradRows<L>(c, s, b, e); });
    }
  });
  return KernelStatus::kDone;
}

// Class numbers, or a weight for each class in the dtype of the scores.
bool WantLabels(InferContext& c, int scores, int labels) {
  if (!WantScores(c, scores) || !c.WantTensor(labels)) return false;
  const double smoothing = c.op().attr("label_smoothing").AsDouble();
  if (!(smoothing >= 0 && smoothing <= 1)) return c.Fail("label_smoothing is between 0 and 1");
  if (!IsFloat(c.type(labels).dtype())) return WantClasses(c, scores, labels);
  if (!c.op().attr("ignore_index").empty()) {
    return c.Fail("ignore_index names a class number; weights of classes have none");
  }
  return c.UnifyTypes(c.type(scores), c.type(labels), "logits and soft labels");
}

OpBuilder& AddOptions(OpBuilder& op, int scores) {
  return op
      .WithAttr("label_smoothing", AttrKind::kFloat, 0.0,
                "the part of each target that is spread evenly over all classes")
      .OptionalAttr("ignore_index", AttrKind::kInt, "rows with this label count nothing")
      .Traits(RowwiseTraits())
      .Sizes("CrossEntropySizes", [scores](const KernelQuery& q, Words& words) {
        const int64_t width = LastDim(*q.in[static_cast<size_t>(scores)]);
        words << RowsOf(*q.in[static_cast<size_t>(scores)], width) << width
              << q.op->attr("label_smoothing").AsDouble() << IgnoredLabel(*q.op);
      });
}

std::vector<NamedAttr> Options(const GradContext& c, bool ignore = true) {
  std::vector<NamedAttr> attrs = {{"label_smoothing", c.attr("label_smoothing")}};
  if (ignore && !c.attr("ignore_index").empty()) {
    attrs.push_back({"ignore_index", c.attr("ignore_index")});
  }
  return attrs;
}

OpCost CostOf(const KernelQuery& q) {
  OpCost cost;
  cost.operations = 20.0 * static_cast<double>(q.in[0]->size());
  for (const Slot* slot : q.in) cost.bytes += static_cast<double>(slot->tensor.num_bytes());
  cost.bytes += static_cast<double>(q.out[0]->tensor.num_bytes());
  return cost;
}

}  // namespace

void DefineSoftmaxCrossEntropy(OpSet& ops) {
  OpBuilder op = ops.Define("softmax_cross_entropy");
  op.Group("loss")
      .Doc(
          "For each row minus the logarithm of the probability that softmax of its logits gives to "
          "its label, or the mean of that over a distribution of labels. A class whose target or "
          "weight is 0 does not matter, even where its logit is -infinity. A label that is no "
          "class is an error.")
      .Formula("y[n] = sum_j weights[j] q[n, j] (log(sum_k exp(logits[n, k])) - logits[n, j])")
      .In("logits", "[…, C]")
      .In("labels", "integers […], each in [0, C), or a weight for each class […, C]")
      .Label("labels", {.low = 0, .classes_of = 0})
      .OptionalIn("weights", "[C]: how much each class counts; 1 where left out");
  AddOptions(op, 0)
      .Infer([](InferContext& c) {
        if (WantLabels(c, 0, 1) && WantClassWeights(c, 0, 2)) {
          c.SetResult(WithoutLastAxis(c.type(0)));
        }
      })
      .Cost(CostOf)
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const Var logits = c.operand(0), labels = c.operand(1), dy = c.grad();
        const Var weights = c.has_operand(2) ? c.operand(2) : Var();
        if (c.wanted(0)) {
          c.SetGrad(
              0, e.Emit("softmax_cross_entropy_grad", {logits, labels, dy, weights}, Options(c)));
        }
        const bool soft = IsFloat(labels.type().dtype()) && c.wanted(1);
        if (!soft && !(weights && c.wanted(2))) return;
        const Var terms = -e.Emit("log_softmax", {logits}) * AsColumn(dy);
        if (soft) {
          const Var grad = terms * (1 - c.attr("label_smoothing").AsDouble());
          c.SetGrad(1, weights ? grad * weights : grad);
        }
        if (weights && c.wanted(2)) {
          const Var q = e.Emit("smooth_labels", {labels, logits}, Options(c));
          c.SetGrad(2, c.SumTo(terms * q, weights));
        }
      })
      .Fast(VectorRows(LossVector))
      .Reference("SoftmaxCrossEntropy", LossReference)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 0, 0, 0}), Ints({2}, {2, 0})}})
      .AddSample({.inputs = {Uniform({4, 3}, -2, 2), Ints({4}, {0, 2, 1, 1})}})
      .AddSample({.inputs = {Uniform({3, 37}, -20, 20), Ints({3}, {36, 0, 7}, DType::kI32)}})
      .AddSample({.inputs = {Floats({1, 2}, {1000, -1000}), Ints({1}, {0})}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Uniform({5}, -2, 2), Ints({}, {3})}, .note = "one row"})
      .AddSample({.inputs = {Uniform({2, 3, 18}, -2, 2), RandomInts({2, 3}, 0, 18)}})
      .AddSample(
          {.inputs = {Uniform({4, 33}, -4, 4), Ints({4}, {32, 2, 1, 2}), Uniform({33}, 0.1, 2, 2)},
           .attrs = {{"label_smoothing", 0.1}, {"ignore_index", 2}}})
      .AddSample({.inputs = {Uniform({3, 5}, -4, 4), Ints({3}, {-100, 2, -100})},
                  .attrs = {{"ignore_index", -100}}})
      .AddSample({.inputs = {Uniform({3, 21}, -4, 4), Uniform({3, 21}, 0, 0.2, 2)},
                  .attrs = {{"label_smoothing", 0.3}},
                  .note = "soft labels"})
      .AddSample(
          {.inputs = {Uniform({3, 4}, -4, 4), Uniform({3, 4}, 0, 0.4, 2), Uniform({4}, 0.1, 2, 3)}})
      .AddSample({.inputs = {Floats({3, 2}, {-INFINITY, 1, NAN, 0, INFINITY, 0}),
                             Floats({3, 2}, {0, 1, 0.5, 0.5, 0.5, 0.5})},
                  .check_gradient = false,
                  .note = "infinite and NaN"})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), RandomInts({6}, 0, 3)},
                  .ragged_lengths = {{2, 0, 4}, {2, 0, 4}},
                  .note = "ragged"});
}

void DefineSoftmaxCrossEntropyGrad(OpSet& ops) {
  OpBuilder op = ops.Define("softmax_cross_entropy_grad");
  op.Group("loss")
      .Doc("The gradient of softmax_cross_entropy at its logits.")
      .Formula(
          "dx[n, j] = dy[n] * (softmax(logits)[n, j] * sum_k t[n, k] - t[n, j]), t = weights q")
      .In("logits", "[…, C]")
      .In("labels", "as those of softmax_cross_entropy")
      .In("dy", "[…]")
      .OptionalIn("weights", "[C]");
  AddOptions(op, 0)
      .Infer([](InferContext& c) {
        if (WantLabels(c, 0, 1) && WantRowGradient(c, 0, 2) && WantClassWeights(c, 0, 3)) {
          c.SetResult(c.type(0));
        }
      })
      .Cost(CostOf)
      .Grad([](GradContext& c) {
        // With p = softmax(logits) and targets t of mass m: dx = dy (m p - t).
        Emitter& e = c.emit();
        const Var logits = c.operand(0), labels = c.operand(1), dy = c.operand(2), u = c.grad();
        const Var weights = c.has_operand(3) ? c.operand(3) : Var();
        const Var p = e.Emit("softmax", {logits});
        const Var q = e.Emit("smooth_labels", {labels, logits}, Options(c));
        const Var t = weights ? q * weights : q;
        if (c.wanted(0)) {
          const Var mass = RowSum(t);
          c.SetGrad(0, e.Emit("softmax_grad", {p, u}) * mass * AsColumn(dy));
        }
        if (c.wanted(2)) {
          const Var at_one = e.Emit("softmax_cross_entropy_grad",
                                    {logits, labels, OnesLike(dy), weights}, Options(c));
          c.SetGrad(2, SumLast(u * at_one));
        }
        // d dx / d t[k] = dy (p - [j == k]), so that what arrives at t is dy (sum(p u) - u).
        const bool soft = IsFloat(labels.type().dtype()) && c.wanted(1);
        if (!soft && !(weights && c.wanted(3))) return;
        const Var dt = (RowSum(p * u) - u) * AsColumn(dy);
        if (soft) {
          const Var dq = weights ? dt * weights : dt;
          c.SetGrad(1, dq * (1 - c.attr("label_smoothing").AsDouble()));
        }
        if (weights && c.wanted(3)) c.SetGrad(3, c.SumTo(dt * q, weights));
      })
      .Fast(VectorRows(GradVector))
      .Reference("SoftmaxCrossEntropyGrad", GradReference)
      .AddSample(
          {.inputs = {Floats({2, 3}, {1, 2, 3, 0, 0, 0}), Ints({2}, {2, 0}), Floats({2}, {1, 2})}})
      .AddSample(
          {.inputs = {Uniform({4, 3}, -2, 2), Ints({4}, {0, 2, 1, 1}), Uniform({4}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({2, 40}, -9, 9), Ints({2}, {39, 0}), Uniform({2}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64), Empty({0})}})
      .AddSample({.inputs = {Uniform({4, 33}, -4, 4), Ints({4}, {32, 2, 1, 2}),
                             Uniform({4}, -1, 1, 2), Uniform({33}, 0.1, 2, 2)},
                  .attrs = {{"label_smoothing", 0.1}, {"ignore_index", 2}}})
      .AddSample({.inputs = {Uniform({3, 21}, -4, 4), Uniform({3, 21}, 0, 0.2, 2),
                             Uniform({3}, -1, 1, 3), Uniform({21}, 0.1, 2, 2)},
                  .attrs = {{"label_smoothing", 0.3}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), RandomInts({6}, 0, 3), Uniform({6}, -1, 1, 2)},
                  .ragged_lengths = {{2, 0, 4}, {2, 0, 4}, {2, 0, 4}},
                  .note = "ragged"});
}

void DefineSmoothLabels(OpSet& ops) {
  OpBuilder op = ops.Define("smooth_labels");
  op.Group("loss")
      .Doc(
          "The distribution over classes that labels stand for: 1 - label_smoothing at the label "
          "(or times the weights of the classes), and label_smoothing spread evenly. Zeros where "
          "the label is ignore_index.")
      .Formula("q[n, j] = (1 - label_smoothing) [labels[n] == j] + label_smoothing / C")
      .In("labels", "integers […], each in [0, C), or a weight for each class […, C]")
      .In("like", "[…, C]: only its type matters");
  AddOptions(op, 1)
      .Infer([](InferContext& c) {
        if (WantLabels(c, 1, 0)) c.SetResult(c.type(1));
      })
      .Grad([](GradContext& c) {
        if (!c.wanted(0) || !IsFloat(c.operand(0).type().dtype())) return;
        c.SetGrad(0, c.grad() * (1 - c.attr("label_smoothing").AsDouble()));
      })
      .Reference("SmoothLabels", LabelsReference)
      .AddSample({.inputs = {Ints({2}, {2, 0}), Floats({2, 3}, {0, 0, 0, 0, 0, 0})},
                  .attrs = {{"label_smoothing", 0.3}}})
      .AddSample({.inputs = {Ints({3}, {1, 0, 1}, DType::kU64), Uniform({3, 2}, 0, 1)},
                  .attrs = {{"ignore_index", 1}}})
      .AddSample({.inputs = {Uniform({2, 3}, 0, 1), Uniform({2, 3}, 0, 1)},
                  .attrs = {{"label_smoothing", 0.2}}})
      .AddSample({.inputs = {Empty({0}, DType::kI32), Empty({0, 3})}});
}

}  // namespace catamaran

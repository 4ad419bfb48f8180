// ops/metric/class_metrics.cc
//
// Metrics over classes: accuracy, top_k_accuracy, perplexity and confusion_matrix.

#include "catamaran/ops/loss/loss.h"
#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

struct ClassMetricSizes {
  int64_t count, width, k, ignored;
};

// Whether fewer than k classes are before the label: those of a larger score, and those of the
// same score with a smaller number. A row with a NaN is never right.
template <class T, class I>
void TopKAccuracy(const double* accumulator, const T* scores, const I* labels, const T* weight,
                  double* y, const ClassMetricSizes& s) {
  double sum = 0, total = 0;
  for (int64_t r = 0; r < s.count; ++r, scores += s.width) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    if (label == s.ignored) continue;
    int64_t before = 0;
    for (int64_t j = 0; j < s.width; ++j) {
      if (scores[j] != scores[j]) before = s.k;
      before += scores[j] > scores[label] || (scores[j] == scores[label] && j < label);
    }
    const double w = weight ? static_cast<double>(weight[r]) : 1.0;
    if (before < s.k) sum += w;
    total += w;
  }
  y[0] = accumulator[0] + sum;
  y[1] = accumulator[1] + total;
}

template <class T, class I>
void Perplexity(const double* accumulator, const T* log_probs, const I* labels, const T* weight,
                double* y, const ClassMetricSizes& s) {
  double sum = 0, total = 0;
  for (int64_t r = 0; r < s.count; ++r, log_probs += s.width) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    if (label == s.ignored) continue;
    const double w = weight ? static_cast<double>(weight[r]) : 1.0;
    sum -= w * static_cast<double>(log_probs[label]);
    total += w;
  }
  y[0] = accumulator[0] + sum;
  y[1] = accumulator[1] + total;
}

template <class I, class W>
void ConfusionMatrix(const double* accumulator, const I* predictions, const I* labels,
                     const W* weight, double* y, const ClassMetricSizes& s) {
  std::copy_n(accumulator, s.width * s.width, y);
  for (int64_t r = 0; r < s.count; ++r) {
    const int64_t label = static_cast<int64_t>(labels[r]);
    if (label == s.ignored) continue;
    y[label * s.width + static_cast<int64_t>(predictions[r])] +=
        weight ? static_cast<double>(weight[r]) : 1.0;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::ClassMetricSizes;

template <bool kPerplexity>
KernelStatus RunRows(KernelContext& c) {
  const ClassMetricSizes s = WithCount<ClassMetricSizes>(c, 2);
  DispatchIndex(
      c.in(2).tensor.dtype,
      [&]<class I>(I) {
        CheckLabels(c.in(2).data<I>(), s.count, s.width, s.ignored);
        DispatchFloating(
            c.in(1).tensor.dtype,
            [&]<class T>(T) {
              const auto f =
                  kPerplexity ? reference::Perplexity<T, I> : reference::TopKAccuracy<T, I>;
              f(c.in(0).data<double>(), c.in(1).data<T>(), c.in(2).data<I>(), WeightData<T>(c, 3),
                c.out().data<double>(), s);
            },
            "metric");
      },
      "metric");
  return KernelStatus::kDone;
}

KernelStatus RunConfusion(KernelContext& c) {
  const ClassMetricSizes s = WithCount<ClassMetricSizes>(c, 2);
  DispatchIndex(
      c.in(2).tensor.dtype,
      [&]<class I>(I) {
        CheckLabels(c.in(2).data<I>(), s.count, s.width, s.ignored);
        const I* predictions = c.in(1).data<I>();
        for (int64_t r = 0; r < s.count; ++r) {
          const bool counts = static_cast<int64_t>(c.in(2).data<I>()[r]) != s.ignored;
          if (counts && static_cast<uint64_t>(predictions[r]) >= static_cast<uint64_t>(s.width)) {
            Fail(ErrorCode::kBadData, "prediction {} of example {} is not one of the {} classes",
                 predictions[r], r, s.width);
          }
        }
        DispatchFloating(
            c.has_in(3) ? c.in(3).tensor.dtype : DType::kF32,
            [&]<class W>(W) {
              reference::ConfusionMatrix(c.in(0).data<double>(), predictions, c.in(2).data<I>(),
                                         WeightData<W>(c, 3), c.out().data<double>(), s);
            },
            "confusion_matrix");
      },
      "confusion_matrix");
  return KernelStatus::kDone;
}

OpBuilder DefineRows(OpSet& ops, const char* name, const char* reference, KernelFn run) {
  OpBuilder op = ops.Define(name);
  op.Group("metric")
      .In("accumulator", kRatioDoc)
      .In(std::string(name) == "perplexity" ? "log_probs" : "scores", "[…, C]")
      .In("labels", "integers […], each in [0, C)")
      .OptionalIn("weight", "[…], of the dtype of the scores; 1 where left out")
      .OptionalAttr("ignore_index", AttrKind::kInt, "rows with this label count nothing")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantAccumulatorOf(c, 0, 2) && WantScores(c, 1) && WantClasses(c, 1, 2) &&
            WantWeight(c, 1, 2, 3)) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("ClassMetricSizes",
             [](const KernelQuery& q, Words& words) {
               const bool has_k = q.op->def().FindArg("k") != nullptr;
               words << q.in[2]->size() << LastDim(*q.in[1])
                     << (has_k ? q.op->attr("k").AsInt() : int64_t{1}) << IgnoredLabel(*q.op);
             })
      .NoGrad(kNoMetricGrad)
      .Reference(reference, run);
  const Tensor start = Floats({2}, {0, 0}, DType::kF64), later = Floats({2}, {5, 8}, DType::kF64);
  op.AddSample(
        {.inputs = {start, Floats({2, 3}, {-1, -2, -0.5, -3, -0.25, -2}), Ints({2}, {2, 0})}})
      .AddSample({.inputs = {later, Uniform({7, 9}, -3, 0), RandomInts({7}, 0, 9, DType::kI32),
                             Uniform({7}, 0, 2, 2)},
                  .attrs = {{"ignore_index", 3}}})
      .AddSample({.inputs = {later, Uniform({2, 3, 4}, -3, 0), RandomInts({2, 3}, 0, 4)}})
      .AddSample({.inputs = {later, Empty({0, 3}), Empty({0}, DType::kI64)}})
      .AddSample(
          {.inputs = {later, Floats({3, 2}, {NAN, -1, -1, NAN, -1, -1}), Ints({3}, {1, 1, 1})},
           .note = "NaN and ties"})
      .AddSample({.inputs = {later, Uniform({5, 3}, -3, 0), Ints({5}, {1, 0, 2, 1, 0})},
                  .ragged_lengths = {{}, {2, 0, 3}, {2, 0, 3}},
                  .note = "ragged"});
  return op;
}

}  // namespace

void DefineAccuracy(OpSet& ops) {
  DefineRows(ops, "accuracy", "TopKAccuracy", RunRows<false>)
      .Doc(
          "Counts the rows whose label has the largest score; of equal scores the first counts. A "
          "row with a NaN is wrong. ratio_value gives the accuracy.")
      .Formula("y = accumulator + [sum of w [argmax(scores[n]) == labels[n]], sum of w]");
}

void DefineTopKAccuracy(OpSet& ops) {
  DefineRows(ops, "top_k_accuracy", "TopKAccuracy", RunRows<false>)
      .WithAttr("k", AttrKind::kInt, 5, "how many classes are looked at")
      .Doc(
          "Counts the rows whose label is among the k largest scores; of equal scores the first "
          "count. A row with a NaN is wrong. ratio_value gives the accuracy.")
      .Formula("y = accumulator + [sum of w [labels[n] is among the k best], sum of w]")
      .AddSample({.inputs = {Floats({2}, {0, 0}, DType::kF64), Uniform({7, 9}, -3, 0),
                             RandomInts({7}, 0, 9)},
                  .attrs = {{"k", 2}}});
}

void DefinePerplexity(OpSet& ops) {
  DefineRows(ops, "perplexity", "Perplexity", RunRows<true>)
      .Doc(
          "Adds up minus the logarithms of the probabilities of labels. perplexity_value gives the "
          "perplexity. NaN stays NaN. Where the losses are there already, use running_mean of "
          "them.")
      .Formula("y = accumulator + [-sum of w log_probs[n, labels[n]], sum of w]");
}

void DefineConfusionMatrix(OpSet& ops) {
  ops.Define("confusion_matrix")
      .Group("metric")
      .Doc(
          "Counts pairs of a label and a predicted class. A class outside of the accumulator is an "
          "error.")
      .Formula(
          "y[l, p] = accumulator[l, p] + sum of w over n with labels[n] == l, predictions[n] == p")
      .In("accumulator", "f64[C, C], zeros at first")
      .In("predictions", "integers of any shape, each in [0, C)")
      .In("labels", "as predictions")
      .OptionalIn("weight", "f32 or f64, as labels; 1 where left out")
      .OptionalAttr("ignore_index", AttrKind::kInt, "elements with this label count nothing")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantAccumulator(c, 0, 2)) return;
        if (!c.Unify(c.type(0).dim(0), c.type(0).dim(1), "classes")) return;
        if (!c.WantTensor(1) || !c.WantTensor(2)) return;
        if (!IsClassType(c.type(1).dtype())) return (void)c.Fail("classes are i32, i64 or u64");
        if (!c.UnifyTypes(c.type(1), c.type(2), "predictions and labels")) return;
        if (c.has(3) && (!c.WantFloat(3) || !WantWeight(c, 3, 2, 3))) return;
        c.SetResult(c.type(0));
      })
      .Sizes("ClassMetricSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[2]->size() << q.in[0]->shape()[0] << int64_t{1} << IgnoredLabel(*q.op);
             })
      .NoGrad(kNoMetricGrad)
      .Reference("ConfusionMatrix", RunConfusion)
      .AddSample({.inputs = {Floats({2, 2}, {0, 0, 0, 0}, DType::kF64), Ints({3}, {0, 1, 1}),
                             Ints({3}, {0, 0, 1})}})
      .AddSample({.inputs = {Floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, DType::kF64),
                             RandomInts({2, 9}, 0, 3, DType::kI32, 1),
                             RandomInts({2, 9}, 0, 3, DType::kI32, 2), Uniform({2, 9}, 0, 2)},
                  .attrs = {{"ignore_index", 2}}})
      .AddSample({.inputs = {Floats({1, 1}, {4}, DType::kF64), Empty({0}, DType::kU64),
                             Empty({0}, DType::kU64)}});
}

}  // namespace catamaran

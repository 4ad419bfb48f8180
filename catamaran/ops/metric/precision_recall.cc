// ops/metric/precision_recall.cc
//
// precision_recall and precision_recall_value: counts of right and wrong positives and negatives.

#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

struct PrecisionRecallSizes {
  int64_t count;
  double threshold;
};

// y is [true positives, false positives, false negatives, true negatives].
template <class T, class L>
void PrecisionRecall(const double* accumulator, const T* prediction, const L* label,
                     const T* weight, double* y, const PrecisionRecallSizes& s) {
  std::copy_n(accumulator, 4, y);
  for (int64_t i = 0; i < s.count; ++i) {
    const double p = static_cast<double>(prediction[i]);
    const bool positive = static_cast<double>(label[i]) > 0.5;
    const bool right = positive ? p >= s.threshold : p < s.threshold;
    y[positive ? (right ? 0 : 2) : (right ? 3 : 1)] +=
        weight ? static_cast<double>(weight[i]) : 1.0;
  }
}

struct PrecisionRecallValueSizes {
  int64_t unused;
};

inline void PrecisionRecallValue(const double* accumulator, double* precision, double* recall,
                                 double* f1, const PrecisionRecallValueSizes&) {
  const double right = accumulator[0], wrong = accumulator[1], missed = accumulator[2];
  *precision = right / (right + wrong);
  *recall = right / (right + missed);
  *f1 = 2 * right / (2 * right + wrong + missed);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

constexpr const char* kCountsDoc =
    "f64[4]: true positives, false positives, false negatives, true negatives; zeros at first";

KernelStatus RunCounts(KernelContext& c) {
  const auto s = WithCount<reference::PrecisionRecallSizes>(c, 1);
  ForNumberLabels(c, 1, 2, [&]<class T, class L>(T, L) {
    reference::PrecisionRecall(c.in(0).data<double>(), c.in(1).data<T>(), c.in(2).data<L>(),
                               WeightData<T>(c, 3), c.out().data<double>(), s);
  });
  return KernelStatus::kDone;
}

KernelStatus RunValue(KernelContext& c) {
  reference::PrecisionRecallValue(c.in(0).data<double>(), c.out(0).data<double>(),
                                  c.out(1).data<double>(), c.out(2).data<double>(), {});
  return KernelStatus::kDone;
}

}  // namespace

void DefinePrecisionRecall(OpSet& ops) {
  const Tensor later = Floats({4}, {1, 2, 3, 4}, DType::kF64);
  ops.Define("precision_recall")
      .Group("metric")
      .Doc(
          "Counts right and wrong positives and negatives. Predictions from the threshold on are "
          "positive, and so are labels above 0.5. A NaN prediction is wrong, whatever the label. "
          "precision_recall_value gives the numbers.")
      .Formula("y = accumulator + sums of w over [tp, fp, fn, tn]")
      .In("accumulator", kCountsDoc)
      .In("prediction", "of any shape")
      .In("label", "as prediction; its dtype, bool or an integer")
      .OptionalIn("weight", kWeightDoc)
      .WithAttr("threshold", AttrKind::kFloat, 0.5, "predictions from here on are positive")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantAccumulatorOf(c, 0, 4) && WantNumberLabel(c, 1, 2) && WantWeight(c, 1, 2, 3)) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("PrecisionRecallSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[1]->size() << q.op->attr("threshold").AsDouble();
             })
      .NoGrad(kNoMetricGrad)
      .Reference("PrecisionRecall", RunCounts)
      .AddSample({.inputs = {Floats({4}, {0, 0, 0, 0}, DType::kF64),
                             Floats({4}, {0.9, 0.2, 0.6, 0.3}), Floats({4}, {1, 0, 0, 1})}})
      .AddSample({.inputs = {later, Uniform({5, 3}, 0, 1), RandomInts({5, 3}, 0, 2),
                             Uniform({5, 3}, 0, 2, 3)},
                  .attrs = {{"threshold", 0.7}}})
      .AddSample({.inputs = {later, Floats({2}, {NAN, NAN}), Bools({2}, {true, false})}})
      .AddSample({.inputs = {later, Empty({0}), Empty({0})}})
      .AddSample({.inputs = {later, Uniform({5}, 0, 1), Ints({5}, {1, 0, 1, 1, 0})},
                  .ragged_lengths = {{}, {2, 0, 3}, {2, 0, 3}},
                  .note = "ragged"});
}

void DefinePrecisionRecallValue(OpSet& ops) {
  ops.Define("precision_recall_value")
      .Group("metric")
      .Doc(
          "Precision, recall and F1 of an accumulator of precision_recall. Each is NaN where there "
          "is nothing to divide by.")
      .Formula("tp / (tp + fp), tp / (tp + fn), 2 tp / (2 tp + fp + fn)")
      .In("accumulator", kCountsDoc)
      .Results(3)
      .Infer([](InferContext& c) {
        if (!WantAccumulatorOf(c, 0, 4)) return;
        for (int i = 0; i < 3; ++i) c.SetResult(i, Type::Scalar(DType::kF64));
      })
      .Sizes("PrecisionRecallValueSizes",
             [](const KernelQuery&, Words& words) { words << int64_t{0}; })
      .NoGrad(kNoMetricGrad)
      .Reference("PrecisionRecallValue", RunValue)
      .AddSample({.inputs = {Floats({4}, {3, 1, 2, 4}, DType::kF64)}})
      .AddSample({.inputs = {Floats({4}, {0, 0, 0, 4}, DType::kF64)}});
}

}  // namespace catamaran

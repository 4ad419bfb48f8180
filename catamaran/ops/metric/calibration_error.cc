// ops/metric/calibration_error.cc
//
// calibration_error and calibration_error_value: how far predicted probabilities are from observed
// shares, bucket by bucket.

#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

struct CalibrationErrorSizes {
  int64_t count, buckets;
};

// y is [3, buckets]: weights, weighted predictions, weighted labels. NaN goes to the first bucket
// and makes it NaN.
template <class T, class L>
void CalibrationError(const double* accumulator, const T* prediction, const L* label,
                      const T* weight, double* y, const CalibrationErrorSizes& s) {
  std::copy_n(accumulator, 3 * s.buckets, y);
  for (int64_t i = 0; i < s.count; ++i) {
    const double p = static_cast<double>(prediction[i]);
    const double w = weight ? static_cast<double>(weight[i]) : 1.0;
    int64_t k = p > 0 ? s.buckets - 1 : 0;
    if (p > 0 && p < 1) {
      k = std::min(k, static_cast<int64_t>(p * static_cast<double>(s.buckets)));
    }
    y[k] += w;
    y[s.buckets + k] += w * p;
    y[2 * s.buckets + k] += w * static_cast<double>(label[i]);
  }
}

inline void CalibrationErrorValue(const double* accumulator, double* y,
                                  const CalibrationErrorSizes& s) {
  double sum = 0, total = 0;
  for (int64_t k = 0; k < s.buckets; ++k) {
    total += accumulator[k];
    sum += std::fabs(accumulator[s.buckets + k] - accumulator[2 * s.buckets + k]);
  }
  *y = sum / total;
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::CalibrationErrorSizes;

constexpr const char* kBucketsDoc =
    "f64[3, K]: weights, predictions and labels by bucket; zeros at first";

KernelStatus RunCount(KernelContext& c) {
  const auto s = WithCount<CalibrationErrorSizes>(c, 1);
  ForNumberLabels(c, 1, 2, [&]<class T, class L>(T, L) {
    reference::CalibrationError(c.in(0).data<double>(), c.in(1).data<T>(), c.in(2).data<L>(),
                                WeightData<T>(c, 3), c.out().data<double>(), s);
  });
  return KernelStatus::kDone;
}
KernelStatus RunValue(KernelContext& c) {
  reference::CalibrationErrorValue(c.in(0).data<double>(), c.out().data<double>(),
                                   c.sizes<CalibrationErrorSizes>());
  return KernelStatus::kDone;
}

bool WantBuckets(InferContext& c) {
  return WantAccumulator(c, 0, 2) && c.Unify(c.type(0).dim(0), Dim(3), "rows of the accumulator");
}
void FillSizes(const KernelQuery& q, Words& words) {
  words << (q.in.size() > 1 ? q.in[1]->size() : int64_t{0}) << q.in[0]->shape()[1];
}

}  // namespace

void DefineCalibrationError(OpSet& ops) {
  const Tensor later = Floats({3, 2}, {1, 2, 0.3, 1.5, 0, 2}, DType::kF64);
  ops.Define("calibration_error")
      .Group("metric")
      .Doc(
          "Adds up predictions and labels by buckets of the predictions, K of equal width in "
          "[0, 1]; predictions outside go to the ends. calibration_error_value gives the expected "
          "calibration error. NaN stays NaN.")
      .Formula("y[:, k] = accumulator[:, k] + sums of [w, w p, w l] over p in [k / K, (k + 1) / K)")
      .In("accumulator", kBucketsDoc)
      .In("prediction", "probabilities of any shape")
      .In("label", "as prediction; its dtype, bool or an integer")
      .OptionalIn("weight", kWeightDoc)
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantBuckets(c) && WantNumberLabel(c, 1, 2) && WantWeight(c, 1, 2, 3)) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("CalibrationErrorSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Reference("CalibrationError", RunCount)
      .AddSample({.inputs = {Floats({3, 2}, {0, 0, 0, 0, 0, 0}, DType::kF64),
                             Floats({4}, {0.1, 0.4, 0.6, 0.8}), Floats({4}, {0, 1, 0, 1})}})
      .AddSample({.inputs = {later, Uniform({5, 3}, -0.2, 1.2), RandomInts({5, 3}, 0, 2),
                             Uniform({5, 3}, 0, 2, 3)}})
      .AddSample({.inputs = {later, Floats({3}, {NAN, 0, 1}), Bools({3}, {true, false, true})}})
      .AddSample({.inputs = {later, Empty({0}), Empty({0})}})
      .AddSample({.inputs = {later, Uniform({5}, 0, 1), Ints({5}, {1, 0, 1, 1, 0})},
                  .ragged_lengths = {{}, {2, 0, 3}, {2, 0, 3}},
                  .note = "ragged"});
}

void DefineCalibrationErrorValue(OpSet& ops) {
  ops.Define("calibration_error_value")
      .Group("metric")
      .Doc(
          "The expected calibration error of an accumulator of calibration_error: the mean over "
          "examples of how far the mean prediction of their bucket is from its mean label. NaN "
          "where nothing was counted.")
      .Formula("y = sum_k |sum of w p in k - sum of w l in k| / sum of w")
      .In("accumulator", kBucketsDoc)
      .Infer([](InferContext& c) {
        if (WantBuckets(c)) c.SetResult(Type::Scalar(DType::kF64));
      })
      .Sizes("CalibrationErrorSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Reference("CalibrationErrorValue", RunValue)
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 0.3, 1.5, 0, 2}, DType::kF64)}})
      .AddSample({.inputs = {Floats({3, 1}, {0, 0, 0}, DType::kF64)}});
}

}  // namespace catamaran

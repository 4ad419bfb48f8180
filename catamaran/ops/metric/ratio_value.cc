// ops/metric/ratio_value.cc
//
// ratio_value and perplexity_value: the numbers of accumulators that hold a sum and its weight.

#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

struct RatioValueSizes {
  int64_t exponential;
};

inline void RatioValue(const double* accumulator, double* y, const RatioValueSizes& s) {
  const double ratio = accumulator[0] / accumulator[1];
  *y = s.exponential ? std::exp(ratio) : ratio;
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunValue(KernelContext& c) {
  reference::RatioValue(c.in(0).data<double>(), c.out().data<double>(),
                        c.sizes<reference::RatioValueSizes>());
  return KernelStatus::kDone;
}

OpBuilder& AddValue(OpBuilder& op, bool exponential) {
  return op.Group("metric")
      .In("accumulator", kRatioDoc)
      .Infer([](InferContext& c) {
        if (WantAccumulatorOf(c, 0, 2)) c.SetResult(Type::Scalar(DType::kF64));
      })
      .Sizes("RatioValueSizes",
             [exponential](const KernelQuery&, Words& words) { words << exponential; })
      .NoGrad(kNoMetricGrad)
      .Reference("RatioValue", RunValue)
      .AddSample({.inputs = {Floats({2}, {3, 4}, DType::kF64)}})
      .AddSample({.inputs = {Floats({2}, {0, 0}, DType::kF64)}, .note = "nothing counted"})
      .AddSample({.inputs = {Floats({2}, {NAN, 4}, DType::kF64)}});
}

}  // namespace

void DefineRatioValue(OpSet& ops) {
  OpBuilder op = ops.Define("ratio_value");
  AddValue(op, false)
      .Doc(
          "The number of an accumulator that holds a sum and its weight: that of accuracy, "
          "top_k_accuracy, binary_accuracy, log_loss, calibration, running_mean, running_mse, "
          "running_mae, edit_rate, ndcg and reciprocal_rank. NaN where nothing was counted.")
      .Formula("y = accumulator[0] / accumulator[1]");
}

void DefinePerplexityValue(OpSet& ops) {
  OpBuilder op = ops.Define("perplexity_value");
  AddValue(op, true)
      .Doc("The number of an accumulator of perplexity. NaN where nothing was counted.")
      .Formula("y = exp(accumulator[0] / accumulator[1])");
}

}  // namespace catamaran

// ops/metric/metric.h
//
// What metrics share. A metric op is pure: it takes an accumulator, predictions, labels and maybe
// weights, and gives the accumulator that follows; the caller keeps it. It starts from zeros, is
// f64 (f32 stops counting at 16777216) and sums of accumulators are accumulators, so that parts
// may be counted apart. A `…_value` op makes the number.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catamaran/ops/kernel_support.h"

namespace catamaran {

inline constexpr const char* kNoMetricGrad = "a metric measures; train on a loss";
inline constexpr const char* kRatioDoc = "f64[2]: a sum and its weight, zeros at first";
inline constexpr const char* kWeightDoc =
    "as label, of the dtype of the prediction; 1 where left out";

inline bool WantAccumulator(InferContext& c, int i, int rank) {
  if (!c.WantTensor(i) || !c.WantDense(i)) return false;
  if (c.type(i).dtype() != DType::kF64) {
    return c.Fail("the accumulator of a metric is f64, found " + c.type(i).ToString());
  }
  return c.WantRank(i, rank);
}
// f64[size].
inline bool WantAccumulatorOf(InferContext& c, int i, int64_t size) {
  return WantAccumulator(c, i, 1) &&
         c.Unify(c.type(i).dim(0), Dim(size), "sizes of the accumulator");
}

// The label of a number: a number of the same dtype, an integer or a bool.
inline bool IsNumberLabel(DType label, DType prediction) {
  return label == prediction || label == DType::kBool || label == DType::kI32 ||
         label == DType::kI64 || label == DType::kU8;
}

// Operand `label` has the shape of operand `prediction`.
inline bool WantNumberLabel(InferContext& c, int prediction, int label) {
  if (!c.WantFloat(prediction) || !c.WantTensor(label)) return false;
  const Type &p = c.type(prediction), &l = c.type(label);
  if (!IsNumberLabel(l.dtype(), p.dtype())) {
    return c.Fail("labels are " + std::string(Name(p.dtype())) +
                  " as the predictions, or bool, u8, i32 or i64, found " +
                  std::string(Name(l.dtype())));
  }
  return c.UnifyTypes(p, l.WithDType(p.dtype()), "predictions and labels");
}

// An optional weight with the shape of operand `like` and the dtype of operand `prediction`.
inline bool WantWeight(InferContext& c, int prediction, int like, int weight) {
  if (!c.has(weight)) return true;
  if (!c.WantFloat(weight) || !c.WantSameDType(prediction, weight)) return false;
  return c.UnifyTypes(c.type(like).WithDType(c.type(weight).dtype()), c.type(weight),
                      "labels and weights");
}

template <class T>
const T* WeightData(const KernelContext& c, int i) {
  return c.has_in(i) ? c.in(i).data<T>() : nullptr;
}

// Calls f(T, L) with the dtype of the prediction and that of the label.
template <class F>
void ForNumberLabels(const KernelContext& c, int prediction, int label, F&& f) {
  const DType label_type = c.in(label).tensor.dtype;
  DispatchFloating(
      c.in(prediction).tensor.dtype,
      [&]<class T>(T) {
        if (IsFloat(label_type)) {
          f(T{}, T{});
        } else {
          DispatchAmong<bool, uint8_t, int32_t, int64_t>(
              label_type, [&]<class L>(L) { f(T{}, L{}); }, "metric");
        }
      },
      "metric");
}

// The elements are counted anew in each run: a ragged total may differ from that of `prepare`.
template <class Sizes>
Sizes WithCount(const KernelContext& c, int counted) {
  Sizes s = c.sizes<Sizes>();
  s.count = c.in(counted).size();
  return s;
}

}  // namespace catamaran

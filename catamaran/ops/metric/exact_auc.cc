// ops/metric/exact_auc.cc
//
// exact_auc(prediction, label): the area under the ROC curve of whole arrays.

#include <array>
#include <cstring>
#include <utility>

#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

struct ExactAucSizes {
  int64_t count;
};

// `order` has room for all predictions.
template <class T, class L>
void ExactAuc(const T* prediction, const L* label, const T* weight, double* y, int64_t* order,
              const ExactAucSizes& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    order[i] = i;
    if (prediction[i] != prediction[i]) {
      *y = NAN;
      return;
    }
  }
  std::sort(order, order + s.count,
            [prediction](int64_t a, int64_t b) { return prediction[a] < prediction[b]; });
  double below = 0, positives = 0, right = 0;
  for (int64_t i = 0; i < s.count;) {
    double positive = 0, negative = 0;  // of equal predictions
    const T at = prediction[order[i]];
    for (; i < s.count && prediction[order[i]] == at; ++i) {
      const double w = weight ? static_cast<double>(weight[order[i]]) : 1.0;
      const double l = static_cast<double>(label[order[i]]);
      positive += w * l;
      negative += w * (1 - l);
    }
    right += positive * (below + negative / 2);
    below += negative;
    positives += positive;
  }
  *y = right / (below * positives);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunExactAuc(KernelContext& c) {
  const auto s = WithCount<reference::ExactAucSizes>(c, 0);
  ForNumberLabels(c, 0, 1, [&]<class T, class L>(T, L) {
    reference::ExactAuc(c.in(0).data<T>(), c.in(1).data<L>(), WeightData<T>(c, 2),
                        c.out().data<double>(), static_cast<int64_t*>(c.scratch), s);
  });
  return KernelStatus::kDone;
}

// Predictions as integers of the same order, each with its place below it, so that sorting
// moves both.
constexpr int64_t kMostPlaces = int64_t{1} << 32;

uint64_t Packed(float x, int64_t place) {
  uint32_t bits;
  x += 0.0f;  // -0 is 0
  std::memcpy(&bits, &x, sizeof(bits));
  bits = bits >> 31 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(bits) << 32 | static_cast<uint64_t>(place);
}

// Sorts by the predictions, the upper halves: three passes of 11 bits. Returns where the result is,
// in one of the two arrays of `count`.
const uint64_t* RadixSort(uint64_t* from, uint64_t* to, int64_t count) {
  constexpr int kBits = 11, kDigits = 1 << kBits;
  for (int shift = 32; shift < 64; shift += kBits) {
    std::array<int64_t, kDigits> begins{};
    const auto digit = [shift](uint64_t x) { return x >> shift & (kDigits - 1); };
    for (int64_t i = 0; i < count; ++i) ++begins[digit(from[i])];
    int64_t begin = 0;
    for (int64_t& entry : begins) begin += std::exchange(entry, begin);
    for (int64_t i = 0; i < count; ++i) to[begins[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  return from;
}

KernelStatus RunPacked(KernelContext& c) {
  const int64_t count = c.in(0).size();
  auto* unsorted = static_cast<uint64_t*>(c.scratch);
  ForNumberLabels(c, 0, 1, [&]<class T, class L>(T, L) {
    if constexpr (std::is_same_v<T, float>) {
      const float *prediction = c.in(0).data<float>(), *weight = WeightData<float>(c, 2);
      const L* label = c.in(1).data<L>();
      double& y = *c.out().data<double>();
      for (int64_t i = 0; i < count; ++i) {
        unsorted[i] = Packed(prediction[i], i);
        if (prediction[i] != prediction[i]) {
          y = NAN;
          return;
        }
      }
      const uint64_t* packed = RadixSort(unsorted, unsorted + count, count);
      double below = 0, positives = 0, right = 0;
      for (int64_t i = 0; i < count;) {
        double positive = 0, negative = 0;
        const uint64_t at = packed[i] >> 32;
        for (; i < count && packed[i] >> 32 == at; ++i) {
          const size_t place = packed[i] & 0xFFFFFFFFu;
          const double w = weight ? static_cast<double>(weight[place]) : 1.0;
          const double l = static_cast<double>(label[place]);
          positive += w * l;
          negative += w * (1 - l);
        }
        right += positive * (below + negative / 2);
        below += negative;
        positives += positive;
      }
      y = right / (below * positives);
    }
  });
  return KernelStatus::kDone;
}

size_t ScratchOf(const KernelQuery& q) { return static_cast<size_t>(q.in[0]->size()) * 8; }

}  // namespace

void DefineExactAuc(OpSet& ops) {
  OpBuilder op = ops.Define("exact_auc");
  op.Group("metric")
      .Doc(
          "The area under the ROC curve: the share of pairs of a positive and a negative, by "
          "weight, whose predictions are in the right order; equal predictions count one half. A "
          "label between 0 and 1 counts as that part of a positive. NaN where a prediction is "
          "NaN, and without a positive or a negative. It sorts all predictions; auc counts in "
          "buckets and goes on from batch to batch.")
      .Formula(
          "y = sum over pairs i, j of w[i] l[i] w[j] (1 - l[j]) ([p[i] > p[j]] + [p[i] == p[j]] / "
          "2) / (P N)")
      .In("prediction", "of any shape and scale")
      .In("label", "as prediction; its dtype, bool or an integer")
      .OptionalIn("weight", kWeightDoc)
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantNumberLabel(c, 0, 1) && WantWeight(c, 0, 1, 2)) {
          c.SetResult(Type::Scalar(DType::kF64));
        }
      })
      .Sizes("ExactAucSizes", [](const KernelQuery& q, Words& words) { words << q.in[0]->size(); })
      .NoGrad(kNoMetricGrad)
      .Reference("ExactAuc", RunExactAuc);
  op.def().kernels.back().scratch = ScratchOf;
  Kernel packed = FastKernel("packed", RunPacked, [](const KernelQuery& q) {
    return IsF32(q) && q.in[0]->size() < kMostPlaces;
  });
  packed.scratch = [](const KernelQuery& q) { return 2 * ScratchOf(q); };
  op.Fast(packed)
      .AddSample({.inputs = {Floats({4}, {0.1, 0.4, 0.35, 0.8}), Floats({4}, {0, 0, 1, 1})}})
      .AddSample({.inputs = {Uniform({31, 3}, -3, 3), Uniform({31, 3}, 0, 1, 2),
                             Uniform({31, 3}, 0, 2, 3)}})
      .AddSample({.inputs = {Floats({6}, {0, -0.0, 0.5, 0.5, INFINITY, -INFINITY}),
                             Ints({6}, {1, 0, 1, 0, 0, 1})},
                  .note = "ties"})
      .AddSample({.inputs = {Floats({2}, {NAN, 1}), Bools({2}, {true, false})}})
      .AddSample({.inputs = {Uniform({3}, 0, 1), Ints({3}, {1, 1, 1}, DType::kI32)},
                  .note = "no negatives"})
      .AddSample({.inputs = {Empty({0}), Empty({0})}})
      .AddSample({.inputs = {Uniform({5}, 0, 1), Ints({5}, {1, 0, 1, 1, 0})},
                  .ragged_lengths = {{2, 0, 3}, {2, 0, 3}},
                  .note = "ragged"});
}

}  // namespace catamaran

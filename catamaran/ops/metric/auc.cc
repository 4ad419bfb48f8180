// ops/metric/auc.cc
//
// auc and auc_value: the area under the ROC curve from buckets of predictions, with a bound of its
// error.

#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

struct AucSizes {
  int64_t count, buckets;
};

// The bucket of a prediction; what lies outside of [0, 1] goes to the ends.
template <class T>
int64_t AucBucket(T p, int64_t buckets) {
  if (!(p > T(0))) return 0;
  if (p >= T(1)) return buckets - 1;
  return std::min(static_cast<int64_t>(p * static_cast<T>(buckets)), buckets - 1);
}

// Adds to y[2, buckets]: the weights of negatives, then those of positives. A NaN prediction makes
// its class NaN.
template <class T, class L>
void AucAdd(const T* prediction, const L* label, const T* weight, double* y, int64_t count,
            int64_t buckets) {
  for (int64_t i = 0; i < count; ++i) {
    const double l = static_cast<double>(label[i]);
    double w = weight ? static_cast<double>(weight[i]) : 1.0;
    if (prediction[i] != prediction[i]) w = NAN;
    const int64_t k = AucBucket(prediction[i], buckets);
    if (l * (1 - l) == 0.0) {
      y[static_cast<int64_t>(l) * buckets + k] += w;  // no branch: it could not be foreseen
    } else {
      y[k] += w * (1 - l);
      y[buckets + k] += w * l;
    }
  }
}

template <class T, class L>
void Auc(const double* accumulator, const T* prediction, const L* label, const T* weight, double* y,
         const AucSizes& s) {
  std::copy_n(accumulator, 2 * s.buckets, y);
  AucAdd(prediction, label, weight, y, s.count, s.buckets);
}

// Pairs in the same bucket count one half.
inline void AucValue(const double* accumulator, double* value, double* bound, const AucSizes& s) {
  double below = 0, positives = 0, right = 0, same = 0;
  for (int64_t k = 0; k < s.buckets; ++k) {
    const double negative = accumulator[k], positive = accumulator[s.buckets + k];
    right += positive * (below + negative / 2);
    same += positive * negative / 2;
    below += negative;
    positives += positive;
  }
  *value = right / (below * positives);
  *bound = same / (below * positives);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::AucSizes;

KernelStatus RunAuc(KernelContext& c) {
  const AucSizes s = WithCount<AucSizes>(c, 1);
  ForNumberLabels(c, 1, 2, [&]<class T, class L>(T, L) {
    reference::Auc(c.in(0).data<double>(), c.in(1).data<T>(), c.in(2).data<L>(),
                   WeightData<T>(c, 3), c.out().data<double>(), s);
  });
  return KernelStatus::kDone;
}

// Parts of the examples are counted apart and added in order. Their number does not depend on that
// of threads, so neither do the sums.
constexpr int64_t kParts = 8;
constexpr int64_t kWorthParts = 1 << 15;

KernelStatus RunParts(KernelContext& c) {
  const AucSizes s = WithCount<AucSizes>(c, 1);
  double* parts = static_cast<double*>(c.scratch);
  double* y = c.out().data<double>();
  const int64_t each = (s.count + kParts - 1) / kParts, size = 2 * s.buckets;
  ForNumberLabels(c, 1, 2, [&]<class T, class L>(T, L) {
    const T* weight = WeightData<T>(c, 3);
    Split(c.pool, kParts, 3 * each + size, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t at = std::min(part * each, s.count);
        const int64_t count = std::min(each, s.count - at);
        std::fill_n(parts + part * size, size, 0.0);
        reference::AucAdd(c.in(1).data<T>() + at, c.in(2).data<L>() + at,
                          weight ? weight + at : nullptr, parts + part * size, count, s.buckets);
      }
    });
  });
  const double* accumulator = c.in(0).data<double>();
  for (int64_t k = 0; k < size; ++k) {
    double sum = accumulator[k];
    for (int64_t part = 0; part < kParts; ++part) sum += parts[part * size + k];
    y[k] = sum;
  }
  return KernelStatus::kDone;
}

KernelStatus RunValue(KernelContext& c) {
  reference::AucValue(c.in(0).data<double>(), c.out(0).data<double>(), c.out(1).data<double>(),
                      c.sizes<AucSizes>());
  return KernelStatus::kDone;
}

bool WantBuckets(InferContext& c) {
  return WantAccumulator(c, 0, 2) && c.Unify(c.type(0).dim(0), Dim(2), "rows of the accumulator");
}

void FillSizes(const KernelQuery& q, Words& words) {
  words << (q.in.size() > 1 ? q.in[1]->size() : int64_t{0}) << q.in[0]->shape()[1];
}

constexpr const char* kBucketsDoc =
    "f64[2, K]: the weights of negatives, then of positives, by bucket; zeros at first";

}  // namespace

void DefineAuc(OpSet& ops) {
  Kernel parts = FastKernel("parts", RunParts, [](const KernelQuery& q) {
    const AucSizes s = q.sizes->As<AucSizes>();
    return s.count >= kWorthParts && s.count >= 2 * kParts * s.buckets;
  });
  parts.scratch = [](const KernelQuery& q) {
    return static_cast<size_t>(kParts * 2 * q.sizes->As<AucSizes>().buckets) * sizeof(double);
  };
  const Tensor later = Floats({2, 3}, {1, 2, 3, 4, 5, 6}, DType::kF64);
  ops.Define("auc")
      .Group("metric")
      .Doc(
          "Counts labels by buckets of their predictions, K of equal width in [0, 1]; predictions "
          "outside go to the ends. A label between 0 and 1 counts as that part of a positive. "
          "auc_value gives the area under the ROC curve and how far it can be from that of the "
          "predictions themselves; exact_auc does without buckets. A NaN prediction makes the "
          "area NaN.")
      .Formula("y[1, k] = accumulator[1, k] + sum of w l over predictions in [k / K, (k + 1) / K)")
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
      .Sizes("AucSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Fast(parts)
      .Reference("Auc", RunAuc)
      .AddSample({.inputs = {Floats({2, 4}, {0, 0, 0, 0, 0, 0, 0, 0}, DType::kF64),
                             Floats({4}, {0.1, 0.4, 0.35, 0.8}), Floats({4}, {0, 0, 1, 1})}})
      .AddSample({.inputs = {later, Uniform({5, 3}, -0.2, 1.2), Uniform({5, 3}, 0, 1, 2),
                             Uniform({5, 3}, 0, 2, 3)}})
      .AddSample({.inputs = {later, Floats({5}, {NAN, 0, 1, INFINITY, -INFINITY}),
                             Bools({5}, {true, false, true, true, false})}})
      .AddSample({.inputs = {later, Empty({0}), Empty({0})}})
      .AddSample({.inputs = {later, Uniform({40001}, 0, 1), RandomInts({40001}, 0, 2, DType::kI32),
                             Uniform({40001}, 0, 2, 3)},
                  .note = "in parts"})
      .AddSample({.inputs = {later, Uniform({5}, 0, 1), Ints({5}, {1, 0, 1, 1, 0})},
                  .ragged_lengths = {{}, {2, 0, 3}, {2, 0, 3}},
                  .note = "ragged"});
}

void DefineAucValue(OpSet& ops) {
  ops.Define("auc_value")
      .Group("metric")
      .Doc(
          "The area under the ROC curve of an accumulator of auc, and the bound of its error. It "
          "is the share of pairs of a positive and a negative that are in the right order. Pairs "
          "in the same bucket, whose order is not known, count one half and are each wrong by at "
          "most one half; so the error is at most half their share, which is the second result. "
          "Both are NaN without a positive or without a negative.")
      .Formula(
          "value = sum_k P[k] (sum over j < k of N[j] + N[k] / 2) / (P N), bound = sum_k P[k] N[k] "
          "/ (2 P N)")
      .In("accumulator", kBucketsDoc)
      .Results(2)
      .Infer([](InferContext& c) {
        if (!WantBuckets(c)) return;
        c.SetResult(0, Type::Scalar(DType::kF64));
        c.SetResult(1, Type::Scalar(DType::kF64));
      })
      .Sizes("AucSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Reference("AucValue", RunValue)
      .AddSample({.inputs = {Floats({2, 4}, {1, 1, 0, 0, 0, 1, 0, 1}, DType::kF64)}})
      .AddSample({.inputs = {Floats({2, 3}, {0, 0, 0, 1, 2, 3}, DType::kF64)}})
      .AddSample({.inputs = {Empty({2, 0}, DType::kF64)}});
}

}  // namespace catamaran

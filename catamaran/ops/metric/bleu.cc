// ops/metric/bleu.cc
//
// bleu and bleu_value: how many runs of ids candidates share with references, as Papineni and
// others count them over a corpus.

#include "catamaran/ops/metric/sequences.h"

// reference-begin
namespace catamaran::reference {

struct BleuSizes {
  int64_t count, candidate_width, reference_width, order;
};

// How often the n ids at `gram` occur in a sequence.
template <class I>
int64_t BleuCount(const I* gram, int64_t n, const I* ids, int64_t length) {
  int64_t count = 0;
  for (int64_t i = 0; i + n <= length; ++i) count += std::equal(gram, gram + n, ids + i);
  return count;
}

// Adds one pair to y: matches of 1 … order ids, runs of 1 … order ids in the candidate, and both
// lengths. A run matches as often as it occurs in both.
template <class I>
void BleuAdd(const I* candidate, int64_t length, const I* reference, int64_t wanted, double* y,
             int64_t order) {
  for (int64_t n = 1; n <= order; ++n) {
    for (int64_t i = 0; i + n <= length; ++i) {
      // Each run once: at its first place.
      if (BleuCount(candidate + i, n, candidate, i + n - 1) > 0) continue;
      y[n - 1] += static_cast<double>(std::min(BleuCount(candidate + i, n, candidate, length),
                                               BleuCount(candidate + i, n, reference, wanted)));
    }
    y[order + n - 1] += static_cast<double>(std::max<int64_t>(length - n + 1, 0));
  }
  y[2 * order] += static_cast<double>(length);
  y[2 * order + 1] += static_cast<double>(wanted);
}

// Null lengths: all ids count.
template <class I>
void Bleu(const double* accumulator, const I* candidate, const I* reference,
          const int64_t* candidate_lengths, const int64_t* reference_lengths, double* y,
          const BleuSizes& s) {
  std::copy_n(accumulator, 2 * s.order + 2, y);
  for (int64_t n = 0; n < s.count; ++n) {
    BleuAdd(candidate + n * s.candidate_width,
            candidate_lengths ? candidate_lengths[n] : s.candidate_width,
            reference + n * s.reference_width,
            reference_lengths ? reference_lengths[n] : s.reference_width, y, s.order);
  }
}

inline void BleuValue(const double* accumulator, double* y, const BleuSizes& s) {
  const double length = accumulator[2 * s.order], wanted = accumulator[2 * s.order + 1];
  double sum = 0;
  for (int64_t n = 0; n < s.order; ++n) {
    sum += accumulator[n] == 0 ? -INFINITY : std::log(accumulator[n] / accumulator[s.order + n]);
  }
  const double penalty = length > wanted ? 1.0 : std::exp(1 - wanted / length);
  *y = length == 0 ? (wanted == 0 ? NAN : 0.0)
                   : penalty * std::exp(sum / static_cast<double>(s.order));
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::BleuSizes;

constexpr SequencePlaces kPlaces = {1, 2, 3, 4};
constexpr const char* kCountsDoc =
    "f64[2 N + 2], N = 4 as a rule: matches of 1 … N ids, runs of 1 … N ids, length of the "
    "candidates, length of the references; zeros at first";

KernelStatus RunBleu(KernelContext& c) {
  const int64_t order = c.sizes<BleuSizes>().order;
  double* y = c.out().data<double>();
  std::copy_n(c.in(0).data<double>(), 2 * order + 2, y);
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        const Sequences<I> a(c, kPlaces.candidate, kPlaces.candidate_lengths);
        const Sequences<I> b(c, kPlaces.reference, kPlaces.reference_lengths);
        for (int64_t n = 0; n < a.count(); ++n) {
          reference::BleuAdd(a.ids(n), a.length(n), b.ids(n), b.length(n), y, order);
        }
      },
      "bleu");
  return KernelStatus::kDone;
}
KernelStatus RunValue(KernelContext& c) {
  reference::BleuValue(c.in(0).data<double>(), c.out().data<double>(), c.sizes<BleuSizes>());
  return KernelStatus::kDone;
}

bool WantCounts(InferContext& c) {
  if (!WantAccumulator(c, 0, 1)) return false;
  const Dim& size = c.type(0).dim(0);
  if (size.is_constant() && size.constant() >= 4 && size.constant() % 2 == 0) return true;
  return c.Fail("the accumulator is f64[2 N + 2] for runs of up to N ids, such as f64[10], found " +
                c.type(0).ToString());
}

void FillSizes(const KernelQuery& q, Words& words) {
  int64_t count = 0, candidate = 0, reference = 0;
  if (q.in.size() > 1) {
    const Slot &a = *q.in[1], &b = *q.in[2];
    count = a.shape().rank() == 2 ? a.shape()[0] : a.num_rows;
    candidate = LongestSequence(a);
    reference = LongestSequence(b);
  }
  words << count << candidate << reference << (q.in[0]->size() - 2) / 2;
}

}  // namespace

void DefineBleu(OpSet& ops) {
  OpBuilder op = ops.Define("bleu");
  op.Group("metric")
      .Doc(
          "Counts the runs of ids that candidates share with their references, each as often as it "
          "occurs in both. bleu_value gives the BLEU of everything counted. One reference for each "
          "candidate.")
      .Formula(
          "y[n - 1] = accumulator[n - 1] + sum over runs g of n ids of min(count in candidate, "
          "count in reference)")
      .In("accumulator", kCountsDoc);
  AddSequences(op)
      .Infer([](InferContext& c) {
        if (WantCounts(c) && WantSequences(c, kPlaces)) c.SetResult(c.type(0));
      })
      .Sizes("BleuSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Reference("Bleu", RunBleu);
  const Tensor start = Floats({10}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, DType::kF64);
  op.AddSample({.inputs = {start, Ints({1, 5}, {1, 2, 3, 4, 5}), Ints({1, 6}, {1, 2, 3, 4, 6, 5})}})
      .AddSample({.inputs = {Floats({6}, {1, 1, 3, 2, 3, 3}, DType::kF64), RandomInts({4, 9}, 0, 3),
                             RandomInts({4, 7}, 0, 3, DType::kI64, 2), Ints({4}, {9, 0, 5, 1}),
                             Ints({4}, {7, 4, 0, 6})}})
      .AddSample({.inputs = {start, Empty({0, 2}, DType::kI32), Empty({0, 3}, DType::kI32)}})
      .AddSample({.inputs = {start, RandomInts({9}, 0, 3), RandomInts({9}, 0, 3, DType::kI64, 2)},
                  .ragged_lengths = {{}, {5, 0, 4}, {6, 3, 0}},
                  .note = "ragged"});
}

void DefineBleuValue(OpSet& ops) {
  ops.Define("bleu_value")
      .Group("metric")
      .Doc(
          "BLEU between 0 and 1 of an accumulator of bleu: the geometric mean of the shares of "
          "matching runs of 1 … N ids, times a penalty for candidates that are too short. 0 where "
          "no run of some length matches (nothing is smoothed), NaN where nothing was counted.")
      .Formula("y = min(1, exp(1 - R / C)) (prod over n of matches[n] / runs[n])^(1 / N)")
      .In("accumulator", kCountsDoc)
      .Infer([](InferContext& c) {
        if (WantCounts(c)) c.SetResult(Type::Scalar(DType::kF64));
      })
      .Sizes("BleuSizes", FillSizes)
      .NoGrad(kNoMetricGrad)
      .Reference("BleuValue", RunValue)
      .AddSample({.inputs = {Floats({10}, {5, 3, 2, 1, 5, 4, 3, 2, 5, 6}, DType::kF64)}})
      .AddSample({.inputs = {Floats({6}, {3, 0, 5, 4, 5, 4}, DType::kF64)}})
      .AddSample({.inputs = {Floats({4}, {0, 0, 0, 0}, DType::kF64)}});
}

}  // namespace catamaran

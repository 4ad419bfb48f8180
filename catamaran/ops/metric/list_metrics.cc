// ops/metric/list_metrics.cc
//
// ndcg and reciprocal_rank: how well scores put lists in order. Lists are the last axis, or ragged.

#include "catamaran/ops/loss/list_rank_reference.h"
#include "catamaran/ops/metric/metric.h"

// reference-begin
namespace catamaran::reference {

// k: how many places count, 0 for all; linear: whether the gain of an element is its relevance
// and not 2^relevance - 1.
struct ListMetricSizes {
  int64_t rows, width, k, linear;
};

// The gains of the first places by falling `key`, each divided by the logarithm of its place.
template <class T>
double DiscountedGain(const T* key, const T* relevance, const ListRange& list, int64_t* order,
                      const ListMetricSizes& s) {
  ListOrder(key, list, order);
  const int64_t count = list.end - list.begin;
  double sum = 0;
  for (int64_t i = 0; i < (s.k > 0 ? std::min(s.k, count) : count); ++i) {
    const double r = static_cast<double>(relevance[order[i]]);
    sum += (s.linear ? r : std::exp2(r) - 1) / std::log2(static_cast<double>(i) + 2);
  }
  return sum;
}

// `order` has room for the longest list. A list in which nothing is relevant does not count.
template <class T>
void Ndcg(const double* accumulator, const T* scores, const T* relevance, const T* weight,
          const int64_t* offsets, double* y, int64_t* order, const ListMetricSizes& s) {
  y[0] = accumulator[0];
  y[1] = accumulator[1];
  for (int64_t r = 0; r < s.rows; ++r) {
    const ListRange list = ListAt(offsets, r, {s.rows, s.width});
    const double best = DiscountedGain(relevance, relevance, list, order, s);
    if (best == 0) continue;
    const double w = weight ? static_cast<double>(weight[r]) : 1.0;
    y[0] += w * DiscountedGain(scores, relevance, list, order, s) / best;
    y[1] += w;
  }
}

template <class T>
void ReciprocalRank(const double* accumulator, const T* scores, const T* relevance, const T* weight,
                    const int64_t* offsets, double* y, int64_t* order, const ListMetricSizes& s) {
  y[0] = accumulator[0];
  y[1] = accumulator[1];
  for (int64_t r = 0; r < s.rows; ++r) {
    const ListRange list = ListAt(offsets, r, {s.rows, s.width});
    ListOrder(scores, list, order);
    const int64_t count = list.end - list.begin;
    const double w = weight ? static_cast<double>(weight[r]) : 1.0;
    for (int64_t i = 0; i < (s.k > 0 ? std::min(s.k, count) : count); ++i) {
      if (!(relevance[order[i]] > T(0))) continue;
      y[0] += w / (static_cast<double>(i) + 1);
      break;
    }
    y[1] += w;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::ListMetricSizes;

template <bool kNdcg>
KernelStatus RunLists(KernelContext& c) {
  ListMetricSizes s = c.sizes<ListMetricSizes>();
  const Slot& scores = c.in(1);
  if (scores.offsets) {
    s.rows = scores.num_rows;
  } else {
    s.rows = 1;
    for (int i = 0; i + 1 < scores.shape().rank(); ++i) s.rows *= scores.shape()[i];
  }
  DispatchFloating(
      scores.tensor.dtype,
      [&]<class T>(T) {
        const auto f = kNdcg ? reference::Ndcg<T> : reference::ReciprocalRank<T>;
        f(c.in(0).data<double>(), scores.data<T>(), c.in(2).data<T>(), WeightData<T>(c, 3),
          scores.offsets, c.out().data<double>(), static_cast<int64_t*>(c.scratch), s);
      },
      "metric of lists");
  return KernelStatus::kDone;
}

void InferLists(InferContext& c) {
  if (!WantAccumulatorOf(c, 0, 2) || !c.WantFloat(1) || !c.WantMinRank(1, 1)) return;
  const Type& scores = c.type(1);
  if (scores.is_ragged() && scores.rank() != 2) {
    return (void)c.Fail("ragged lists are [B, *T], found " + scores.ToString());
  }
  if (!c.UnifyTypes(scores, c.type(2), "scores and relevance")) return;
  if (c.op().attr("k").AsInt() < 0) return (void)c.Fail("k is 0 or more");
  if (c.has(3)) {
    const Type lists =
        Type::Tensor(scores.dtype(), {scores.dims().begin(), scores.dims().end() - 1});
    if (!c.WantFloat(3) || !c.UnifyTypes(lists, c.type(3), "lists and weights")) return;
  }
  c.SetResult(c.type(0));
}

OpBuilder DefineLists(OpSet& ops, const char* name, const char* reference, KernelFn run) {
  OpBuilder op = ops.Define(name);
  op.Group("metric")
      .In("accumulator", kRatioDoc)
      .In("scores", "[…, N], or ragged [B, *T]")
      .In("relevance", "as scores")
      .OptionalIn("weight", "one number for each list; 1 where left out")
      .WithAttr("k", AttrKind::kInt, 0, "how many places count; 0: all")
      .Traits(RaggedTraits())
      .Infer(InferLists)
      .Sizes("ListMetricSizes",
             [](const KernelQuery& q, Words& words) {
               const bool has_gain = q.op->def().FindArg("gain") != nullptr;
               const int64_t width = LastDim(*q.in[1]);
               words << RowsOf(*q.in[1], width) << width << q.op->attr("k").AsInt()
                     << (has_gain && q.op->attr("gain").AsWord() == "linear");
             })
      .NoGrad(kNoMetricGrad)
      .Reference(reference, run);
  op.def().kernels.back().scratch = [](const KernelQuery& q) {
    return static_cast<size_t>(q.in[1]->size()) * sizeof(int64_t);
  };
  const Tensor start = Floats({2}, {0, 0}, DType::kF64), later = Floats({2}, {5, 8}, DType::kF64);
  op.AddSample({.inputs = {start, Floats({2, 3}, {3, 1, 2, 0.5, 1, 0}),
                           Floats({2, 3}, {0, 1, 2, 0, 0, 1})}})
      .AddSample({.inputs = {later, Uniform({2, 2, 7}, -1, 1), Uniform({2, 2, 7}, 0, 3, 2),
                             Uniform({2, 2}, 0, 2, 3)},
                  .attrs = {{"k", 3}}})
      .AddSample({.inputs = {later, Uniform({2, 3}, -1, 1), Floats({2, 3}, {0, 0, 0, 0, 0, 0})},
                  .note = "nothing is relevant"})
      .AddSample({.inputs = {later, Floats({1, 3}, {NAN, 1, 1}), Floats({1, 3}, {1, 0, 1})}})
      .AddSample({.inputs = {later, Empty({0, 3}), Empty({0, 3})}})
      .AddSample({.inputs = {later, Empty({2, 0}), Empty({2, 0})}})
      .AddSample({.inputs = {later, Uniform({6}, -2, 2), Uniform({6}, 0, 3, 2)},
                  .ragged_lengths = {{}, {2, 0, 4}, {2, 0, 4}},
                  .note = "ragged"});
  return op;
}

}  // namespace

void DefineNdcg(OpSet& ops) {
  DefineLists(ops, "ndcg", "Ndcg", RunLists<true>)
      .WordAttr("gain", {"exponential", "linear"}, "exponential", "2^relevance - 1, or relevance")
      .Doc(
          "Adds up the normalised discounted cumulative gains of lists. Of equal scores the first "
          "comes first; a NaN score comes last. Lists in which nothing is relevant do not count. "
          "ratio_value gives the mean.")
      .Formula(
          "y = accumulator + [sum of w dcg(order by scores) / dcg(best order), sum of w], dcg = "
          "sum_i gain[i] / log2(i + 2)")
      .AddSample({.inputs = {Floats({2}, {5, 8}, DType::kF64), Uniform({2, 7}, -1, 1),
                             Uniform({2, 7}, 0, 3, 2)},
                  .attrs = {{"gain", Attr::Word("linear")}}});
}

void DefineReciprocalRank(OpSet& ops) {
  DefineLists(ops, "reciprocal_rank", "ReciprocalRank", RunLists<false>)
      .Doc(
          "Adds up one over the place of the first element of each list whose relevance is "
          "positive; 0 where there is none. Of equal scores the first comes first; a NaN score "
          "comes last. ratio_value gives the mean reciprocal rank.")
      .Formula("y = accumulator + [sum of w / rank of the first relevant, sum of w]");
}

}  // namespace catamaran

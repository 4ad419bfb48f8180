// ops/random/categorical.cc
//
// categorical(logits, key): for each row one index, drawn with the probabilities softmax(logits).

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct CategoricalSizes {
  int64_t rows;
  int64_t width;
};

// The index at which the running sum of probabilities passes a uniform number, for row r; -1 where
// the row has no probabilities: NaN, infinity, or nothing but -infinity.
template <class T>
int64_t CategoricalRow(const T* x, uint64_t key, int64_t r, int64_t width) {
  double max = -HUGE_VAL;
  for (int64_t i = 0; i < width; ++i) {
    if (x[i] != x[i]) return -1;
    max = static_cast<double>(x[i]) > max ? static_cast<double>(x[i]) : max;
  }
  if (max - max != 0) return -1;
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(x[i]) - max);
  const double target = sum * UniformElement<double>(key, r);
  double before = 0;
  int64_t last = 0;  // rounding may leave the target at the sum: the last that is possible
  for (int64_t i = 0; i < width; ++i) {
    const double part = std::exp(static_cast<double>(x[i]) - max);
    before += part;
    if (part > 0) last = i;
    if (before > target) return i;
  }
  return last;
}

template <class T>
void Categorical(const T* logits, const uint64_t* key, int64_t* y, const CategoricalSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    y[r] = CategoricalRow(logits + r * s.width, *key, r, s.width);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

void InferCategorical(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 1) || !WantKey(c, 1)) return;
  const Type& x = c.type(0);
  if (x.ragged_axis() == x.rank() - 1) {
    return (void)c.Fail("draws over the last axis, which is ragged here");
  }
  std::vector<Dim> dims(x.dims().begin(), x.dims().end() - 1);
  c.SetResult(Type::Tensor(DType::kI64, std::move(dims), x.ragged_axis()));
}

KernelStatus RunCategorical(KernelContext& context) {
  const int64_t width = LastDim(context.in(0));
  const int64_t rows = context.out().size();
  int64_t* y = context.out().data<int64_t>();
  const uint64_t key = KeyOf(context, 1);
  DispatchFloating(
      context.in(0).tensor.dtype,
      [&](auto zero) {
        const auto* x = context.in(0).data<const decltype(zero)>();
        Split(context.pool, rows, 40 * width, [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            y[r] = reference::CategoricalRow(x + r * width, key, r, width);
          }
        });
      },
      "categorical");
  for (int64_t r = 0; r < rows; ++r) {
    if (y[r] < 0) {
      Fail(ErrorCode::kBadData,
           "categorical: row {} has no probabilities: NaN, infinity or only -infinity", r);
    }
  }
  return KernelStatus::kDone;
}

}  // namespace

void DefineCategorical(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  traits.rowwise = true;
  ops.Define("categorical")
      .Group("random")
      .Doc(
          "One index for each row of logits, drawn with the probabilities softmax(logits) over the "
          "last axis. -inf is never drawn. A row with NaN, infinity, or nothing but -inf is an "
          "error "
          "when it runs. Row r is a function of the key and of r.")
      .Formula("the first i with sum over j <= i of softmax(logits)[…, j] > u, u uniform in [0, 1)")
      .In("logits", "[…, N], N at least 1")
      .In("key", "u64, such as key()")
      .Traits(traits)
      .Infer(InferCategorical)
      .Sizes("CategoricalSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.out[0]->size() << LastDim(*query.in[0]);
             })
      .Reference("Categorical", RunCategorical)
      .StopsGrad()
      .AddSample({.inputs = {Floats({2, 3}, {0, 1, 2, 5, 0, -1}), Ints({}, {7}, DType::kU64)}})
      .AddSample({.inputs = {Uniform({50}, -2, 2), Ints({}, {8}, DType::kU64)}})
      .AddSample({.inputs = {Uniform({2, 3, 7}, -2, 2), Ints({}, {8}, DType::kU64)}})
      .AddSample({.inputs = {Floats({3, 2}, {-INFINITY, 0, 0, -INFINITY, 3, 3}),
                             Ints({}, {8}, DType::kU64)}})
      .AddSample({.inputs = {Uniform({6, 3}, 0, 1), Ints({}, {9}, DType::kU64)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"})
      .AddSample({.inputs = {Empty({0, 3}), Ints({}, {7}, DType::kU64)}});
}

}  // namespace catamaran

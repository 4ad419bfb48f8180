// ops/sorting/bincount.cc
//
// bincount(x, weights, size): how often each of the numbers 0 … size - 1 occurs.

#include <vector>

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct BincountSizes {
  int64_t count;  // of elements
  int64_t size;   // of the result
};

template <class I>
void Bincount(const I* x, int64_t* y, const BincountSizes& s) {
  std::fill_n(y, s.size, int64_t{0});
  for (int64_t k = 0; k < s.count; ++k) ++y[x[k]];
}

template <class I, class T>
void WeightedBincount(const I* x, const T* weights, T* y, const BincountSizes& s) {
  std::fill_n(y, s.size, T(0));
  for (int64_t k = 0; k < s.count; ++k) y[x[k]] = static_cast<T>(y[x[k]] + weights[k]);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::BincountSizes;

void Infer(InferContext& c) {
  if (!c.WantIndex(0)) return;
  const Dim size = c.op().attr("size").AsDim();
  if (size.is_constant() && size.constant() < 0) {
    return (void)c.Fail("size must not be negative");
  }
  DType dtype = DType::kI64;
  if (c.has(1)) {
    if (!c.WantFloat(1)) return;
    dtype = c.type(1).dtype();
    if (!c.UnifyTypes(c.type(0).WithDType(dtype), c.type(1), "x and weights")) return;
  }
  c.SetResult(Type::Tensor(dtype, {size}));
}

template <class I>
void CheckRange(const I* x, const BincountSizes& s) {
  uint64_t bad = 0;
  for (int64_t k = 0; k < s.count; ++k) {
    bad |= static_cast<uint64_t>(static_cast<uint64_t>(x[k]) >= static_cast<uint64_t>(s.size));
  }
  if (bad == 0) return;
  for (int64_t k = 0; k < s.count; ++k) {
    if (static_cast<uint64_t>(x[k]) >= static_cast<uint64_t>(s.size)) {
      Fail(ErrorCode::kBadData, "{} at position {} is not among the {} numbers that are counted",
           x[k], k, s.size);
    }
  }
}

// Equal neighbours would wait for each other's counters: four take turns.
template <class I>
void CountInTurns(const I* x, int64_t* y, const BincountSizes& s) {
  thread_local std::vector<uint32_t> memory;
  memory.assign(static_cast<size_t>(4 * s.size), 0);
  uint32_t* c[4];
  for (int64_t t = 0; t < 4; ++t) c[t] = memory.data() + t * s.size;
  int64_t k = 0;
  for (; s.count - k >= 4; k += 4) {
    ++c[0][x[k]];
    ++c[1][x[k + 1]];
    ++c[2][x[k + 2]];
    ++c[3][x[k + 3]];
  }
  for (; k < s.count; ++k) ++c[0][x[k]];
  for (int64_t i = 0; i < s.size; ++i) {
    y[i] = int64_t{c[0][i]} + int64_t{c[1][i]} + int64_t{c[2][i]} + int64_t{c[3][i]};
  }
}

template <bool kFast>
KernelStatus Run(KernelContext& c) {
  BincountSizes s = c.sizes<BincountSizes>();
  s.count = c.in(0).size();
  DispatchInteger(
      c.in(0).tensor.dtype,
      [&]<class I>(I) {
        const I* x = c.in(0).data<const I>();
        CheckRange(x, s);
        if (c.has_in(1)) {
          DispatchFloating(
              c.in(1).tensor.dtype,
              [&]<class T>(T) {
                reference::WeightedBincount(x, c.in(1).data<const T>(), c.out().data<T>(), s);
              },
              "bincount");
        } else if (kFast && s.size < s.count && s.count < int64_t{1} << 32) {
          CountInTurns(x, c.out().data<int64_t>(), s);
        } else {
          reference::Bincount(x, c.out().data<int64_t>(), s);
        }
      },
      "bincount");
  return KernelStatus::kDone;
}

}  // namespace

void DefineBincount(OpSet& ops) {
  OpBuilder op = ops.Define("bincount");
  op.Group("sorting")
      .Doc(
          "How often each of the numbers 0 … size - 1 occurs in x, as i64; with weights the sum of "
          "the weights where it does, in their dtype and added in order. Any other number is an "
          "error.")
      .Formula("y[j] = sum_k weights[k] [x[k] = j]")
      .In("x", "integers, of any shape")
      .OptionalIn("weights", "as x; left out: 1")
      .RequiredAttr("size", AttrKind::kInt, "of the result")
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("BincountSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.in[0]->size() << query.out[0]->size();
             })
      .Fast(FastKernel("turns", Run<true>, nullptr))
      .Reference("Bincount", Run<false>)
      .Grad([](GradContext& c) {
        if (!c.has_operand(1) || !c.wanted(1)) return;
        Var x = c.operand(0);
        if (SizeOf(x.type().dtype()) == 1) {
          x = c.emit().Emit("cast", {x}, {{"dtype", DType::kI32}});
        }
        c.SetGrad(1, c.emit().Emit("gather", {c.grad(), x}, {{"axis", 0}}));
      })
      .AddSample({.inputs = {Ints({5}, {1, 3, 1, 0, 1})}, .attrs = {{"size", 5}}})
      .AddSample({.inputs = {RandomInts({7, 50}, 0, 9, DType::kI32)}, .attrs = {{"size", 9}}})
      .AddSample({.inputs = {RandomInts({5000}, 0, 90, DType::kU8)}, .attrs = {{"size", 200}}})
      .AddSample(
          {.inputs = {RandomInts({7, 5}, 0, 9), Uniform({7, 5}, -1, 1)}, .attrs = {{"size", 9}}})
      .AddSample({.inputs = {RandomInts({30}, 0, 9, DType::kU8), Uniform({30}, -1, 1)},
                  .attrs = {{"size", 10}}})
      .AddSample({.inputs = {Empty({0}, DType::kI64)}, .attrs = {{"size", 3}}})
      .AddSample({.inputs = {Empty({0, 2}, DType::kI64), Empty({0, 2})}, .attrs = {{"size", 3}}})
      .AddSample({.inputs = {Empty({0}, DType::kI64)}, .attrs = {{"size", 0}}})
      .AddSample({.inputs = {Ints({4}, {2, 2, 0, 2})},
                  .attrs = {{"size", 3}},
                  .ragged_lengths = {{3, 0, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

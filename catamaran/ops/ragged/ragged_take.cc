// ops/ragged/ragged_take.cc
//
// ragged_take(x, index): elements of each sequence, by their positions in it; and its gradient as
// an op.

#include <fmt/format.h>

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedTakeSizes {
  int64_t rows, width, stride, total;  // stride: indices a sequence, 0 when they are ragged
};

// index_offsets is null for a dense index.
template <class T, class I>
void RaggedTake(const T* x, const int64_t* offsets, const I* index, const int64_t* index_offsets,
                T* y, const RaggedTakeSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b) {
    const int64_t begin = offsets[b], length = offsets[b + 1] - begin;
    const int64_t first = index_offsets ? index_offsets[b] : b * s.stride;
    const int64_t last = index_offsets ? index_offsets[b + 1] : (b + 1) * s.stride;
    for (int64_t k = first; k < last; ++k) {
      const int64_t at = static_cast<int64_t>(index[k]);
      std::copy_n(x + (begin + (at < 0 ? at + length : at)) * s.width, s.width, y + k * s.width);
    }
  }
}

// An element that was taken more than once gets the sum.
template <class T, class I>
void RaggedTakeGrad(const T* dy, const int64_t* offsets, const I* index,
                    const int64_t* index_offsets, T* dx, const RaggedTakeSizes& s) {
  std::fill_n(dx, s.total * s.width, T(0));
  for (int64_t b = 0; b < s.rows; ++b) {
    const int64_t begin = offsets[b], length = offsets[b + 1] - begin;
    const int64_t first = index_offsets ? index_offsets[b] : b * s.stride;
    const int64_t last = index_offsets ? index_offsets[b + 1] : (b + 1) * s.stride;
    for (int64_t k = first; k < last; ++k) {
      const int64_t at = static_cast<int64_t>(index[k]);
      T* to = dx + (begin + (at < 0 ? at + length : at)) * s.width;
      for (int64_t i = 0; i < s.width; ++i) to[i] = static_cast<T>(to[i] + dy[k * s.width + i]);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedTakeSizes;

RaggedTakeSizes SizesOf(const Slot& x, const Slot& index) {
  const int64_t stride = index.offsets ? 0 : RowWidth(index);
  return {x.num_rows, RowWidth(x), stride, x.shape()[0]};
}

// Fails unless every index lies within its sequence.
template <class I>
void CheckIndex(const Slot& x, const Slot& slot, int64_t stride) {
  const I* index = slot.data<const I>();
  for (int64_t b = 0; b < x.num_rows; ++b) {
    const int64_t length = x.offsets[b + 1] - x.offsets[b];
    const int64_t first = slot.offsets ? slot.offsets[b] : b * stride;
    const int64_t last = slot.offsets ? slot.offsets[b + 1] : (b + 1) * stride;
    for (int64_t k = first; k < last; ++k) {
      const int64_t at = static_cast<int64_t>(index[k]);
      if (at < -length || at >= length) {
        Fail(ErrorCode::kBadData, "index {} is outside of sequence {}, which has {} elements",
             index[k], b, length);
      }
    }
  }
}

KernelStatus RunTake(KernelContext& c) {
  const Slot& x = c.in(0);
  const Slot& index = c.in(1);
  const RaggedTakeSizes s = SizesOf(x, index);
  DispatchIndex(
      index.tensor.dtype,
      [&]<class I>(I) {
        CheckIndex<I>(x, index, s.stride);
        DispatchWidth(x.tensor.dtype, [&]<class T>(T) {
          reference::RaggedTake(x.data<const T>(), x.offsets, index.data<const I>(), index.offsets,
                                c.out().data<T>(), s);
        });
      },
      "ragged_take");
  return KernelStatus::kDone;
}

KernelStatus RunTakeGrad(KernelContext& c) {
  const Slot& x = c.in(1);
  const Slot& index = c.in(2);
  const RaggedTakeSizes s = SizesOf(x, index);
  DispatchIndex(
      index.tensor.dtype,
      [&]<class I>(I) {
        CheckIndex<I>(x, index, s.stride);
        DispatchFloating(
            x.tensor.dtype,
            [&]<class T>(T) {
              reference::RaggedTakeGrad(c.in(0).data<const T>(), x.offsets, index.data<const I>(),
                                        index.offsets, c.out().data<T>(), s);
            },
            "ragged_take_grad");
      },
      "ragged_take_grad");
  return KernelStatus::kDone;
}

// Checks x and the index; gives the type of what is taken.
bool WantTake(InferContext& c, int x_at, int index_at, Type* taken) {
  if (!WantRagged(c, x_at) || !c.WantTensor(index_at) || !c.WantMinRank(index_at, 1)) return false;
  const Type& x = c.type(x_at);
  const Type& index = c.type(index_at);
  const DType dtype = index.dtype();
  if (dtype != DType::kI32 && dtype != DType::kI64 && dtype != DType::kU64) {
    return c.Fail("indices are i32, i64 or u64, found " + std::string(Name(dtype)));
  }
  if (index.is_ragged() && index.rank() != 2) return c.Fail("ragged indices are [B, *S]");
  if (!c.Unify(x.dim(0), index.dim(0), "the numbers of sequences")) return false;
  *taken = Joined(x, {index.dims().begin(), index.dims().end()}, 2, index.ragged_axis());
  return true;
}

void FillSizes(const KernelQuery& q, size_t x, size_t index, Words& words) {
  const RaggedTakeSizes s = SizesOf(*q.in[x], *q.in[index]);
  words << s.rows << s.width << s.stride << s.total;
}

}  // namespace

void DefineRaggedTake(OpSet& ops) {
  ops.Define("ragged_take")
      .Group("ragged")
      .Doc(
          "Elements of each sequence, by their positions in it: one a sequence, some, or a "
          "sequence of them. Negative positions count from the end; one outside of its sequence "
          "is an error.")
      .Formula("y[b, k, …] = x[b, index[b, k], …]")
      .In("x", "[B, *T, …]")
      .In("index", "[B], [B, K] or [B, *S]: i32, i64 or u64")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        Type taken;
        if (WantTake(c, 0, 1, &taken)) c.SetResult(taken);
      })
      .Sizes("RaggedTakeSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, 0, 1, words); })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0, c.emit().Emit("ragged_take_grad", {c.grad(), c.operand(0), c.operand(1)}));
      })
      .Reference("RaggedTake", RunTake)
      .TakesHalf()
      .AddSample({.inputs = {Floats({5}, {1, 2, 3, 4, 5}), Ints({2}, {1, -1})},
                  .ragged_lengths = {{3, 2}}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({2, 3}, {0, 2, 0, -2, 1, 1})},
                  .ragged_lengths = {{3, 2}}})
      .AddSample({.inputs = {Uniform({5, 2}, -1, 1), Ints({4}, {2, 2, 0, 1}, DType::kI32)},
                  .ragged_lengths = {{3, 0, 2}, {3, 0, 1}}})
      .AddSample(
          {.inputs = {RandomInts({3}, 0, 9), Ints({1}, {2}, DType::kU64)}, .ragged_lengths = {{3}}})
      .AddSample(
          {.inputs = {Empty({0, 2}), Empty({2, 0}, DType::kI64)}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedTakeGrad(OpSet& ops) {
  ops.Define("ragged_take_grad")
      .Group("ragged")
      .Doc("The gradient of ragged_take: dy added to the elements that were taken, else zeros.")
      .Formula("dx[b, t, …] = sum over k with index[b, k] = t of dy[b, k, …]")
      .In("dy", "as the result of ragged_take")
      .In("x", "[B, *T, …]; only its lengths matter")
      .In("index", "[B], [B, K] or [B, *S]: i32, i64 or u64")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        Type taken;
        if (!c.WantFloat(0) || !WantTake(c, 1, 2, &taken)) return;
        if (c.UnifyTypes(taken, c.type(0), "what is taken and dy")) c.SetResult(c.type(1));
      })
      .Sizes("RaggedTakeSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, 1, 2, words); })
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.emit().Emit("ragged_take", {c.grad(), c.operand(2)}));
      })
      .Reference("RaggedTakeGrad", RunTakeGrad)
      .AddSample({.inputs = {Floats({2}, {1, 2}), Uniform({5}, -1, 1), Ints({2}, {1, -1})},
                  .ragged_lengths = {{}, {3, 2}}})
      .AddSample({.inputs = {Uniform({2, 3, 2}, -1, 1), Uniform({5, 2}, -1, 1),
                             Ints({2, 3}, {0, 2, 0, -2, 1, 1})},
                  .ragged_lengths = {{}, {3, 2}}});
}

}  // namespace catamaran

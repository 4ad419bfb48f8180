// ops/ragged/ragged.cc
//
// ragged(values, lengths) and ragged_from_offsets(values, offsets): sequences of different length
// from their elements, one sequence after another.

#include <fmt/format.h>

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedSizes {
  int64_t rows, count;  // sequences, and numbers in all of them
};

// The lengths were found to add up.
template <class T, class I>
void Ragged(const T* values, const I* lengths, T* y, int64_t* y_offsets, const RaggedSizes& s) {
  y_offsets[0] = 0;
  for (int64_t b = 0; b < s.rows; ++b) {
    y_offsets[b + 1] = y_offsets[b] + static_cast<int64_t>(lengths[b]);
  }
  std::copy_n(values, s.count, y);
}

template <class T, class I>
void RaggedFromOffsets(const T* values, const I* offsets, T* y, int64_t* y_offsets,
                       const RaggedSizes& s) {
  for (int64_t b = 0; b <= s.rows; ++b) y_offsets[b] = static_cast<int64_t>(offsets[b]);
  std::copy_n(values, s.count, y);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedSizes;

// Calls f(values, counts, y) with the types that they have.
template <class F>
void WithTypes(KernelContext& c, F f) {
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        DispatchWidth(c.in(0).tensor.dtype, [&]<class T>(T) {
          f(c.in(0).data<const T>(), c.in(1).data<const I>(), c.out().data<T>());
        });
      },
      "lengths");
}

KernelStatus RunRagged(KernelContext& c) {
  const int64_t have = c.in(0).shape()[0];
  const int64_t rows = c.in(1).size();
  const int64_t total = OffsetsOf(c.in(1), have, c.new_offsets);
  if (total != have)
    Fail(ErrorCode::kBadData, "the lengths add up to {}, there are {} values", total, have);
  WithTypes(c, [&](const auto* values, const auto* lengths, auto* y) {
    reference::Ragged(values, lengths, y, c.new_offsets, {rows, c.in(0).size()});
  });
  c.DecideSize(total);
  return KernelStatus::kDone;
}

KernelStatus RunFromOffsets(KernelContext& c) {
  const int64_t have = c.in(0).shape()[0];
  const int64_t rows = c.in(1).size() - 1;
  WithTypes(c, [&](const auto* values, const auto* offsets, auto* y) {
    if (offsets[0] != 0) Fail(ErrorCode::kBadData, "the first offset is 0, found {}", offsets[0]);
    for (int64_t b = 0; b < rows; ++b) {
      if (offsets[b + 1] < offsets[b]) {
        Fail(ErrorCode::kBadData, "offsets do not fall: offset {} is {}, the next is {}", b,
             offsets[b], offsets[b + 1]);
      }
    }
    if (static_cast<int64_t>(offsets[rows]) != have) {
      Fail(ErrorCode::kBadData, "the last offset is {}, there are {} values", offsets[rows], have);
    }
    reference::RaggedFromOffsets(values, offsets, y, c.new_offsets, {rows, c.in(0).size()});
  });
  c.DecideSize(have);
  return KernelStatus::kDone;
}

// Adds what the two ops share: they differ in how sequences are told apart.
OpBuilder& Constructs(OpBuilder& op, int64_t more) {
  return op.Group("ragged")
      .Infer([more](InferContext& c) {
        if (!c.WantTensor(0) || !c.WantDense(0) || !c.WantMinRank(0, 1)) return;
        if (!WantCounts(c, 1, more ? "offsets" : "lengths")) return;
        const Dim rows = c.type(1).dim(0) - more;
        if (rows.is_constant() && rows.constant() < 0) {
          return (void)c.Fail("wants one offset more than there are sequences, found none");
        }
        c.SetResult(Joined(c.type(0), {rows, c.FreshDim()}, 1, 1));
      })
      .SizeBound([](const Op& op) { return op.operand(0)->type.dim(0); })
      .Sizes("RaggedSizes",
             [more](const KernelQuery& q, Words& words) {
               words << q.in[1]->size() - more << q.in[0]->size();
             })
      .Grad([](GradContext& c) {
        c.SetGrad(
            0, c.emit().Emit("ragged_values", {c.grad()}, {{"total", c.operand(0).type().dim(0)}}));
      });
}

}  // namespace

void DefineRagged(OpSet& ops) {
  OpBuilder op = ops.Define("ragged");
  Constructs(op, 0)
      .Doc(
          "Sequences of different length, from their elements one sequence after another and the "
          "length of each. Lengths that do not add up to the number of elements are an error.")
      .Formula("y[b, t, …] = values[lengths[0] + … + lengths[b - 1] + t, …]")
      .In("values", "[N, …]")
      .In("lengths", "[B]: i32, i64 or u64")
      .Reference("Ragged", RunRagged)
      .TakesHalf()
      .AddSample({.inputs = {Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Ints({3}, {3, 0, 1})}})
      .AddSample({.inputs = {Uniform({5}, -1, 1), Ints({2}, {2, 3}, DType::kI32)}})
      .AddSample({.inputs = {Uniform({4, 2, 3}, -1, 1), Ints({4}, {0, 4, 0, 0}, DType::kU64)}})
      .AddSample({.inputs = {RandomInts({3}, 0, 9), Ints({2}, {1, 2})}})
      .AddSample({.inputs = {Bools({2, 1}, {true, false}), Ints({1}, {2})}})
      .AddSample({.inputs = {Empty({0, 3}), Ints({2}, {0, 0})}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64)}, .note = "no sequence"});
}

void DefineRaggedFromOffsets(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_from_offsets");
  Constructs(op, 1)
      .Doc(
          "Sequences of different length, from their elements and where each sequence begins: "
          "offsets rise from 0 to the number of elements. Others are an error.")
      .Formula("y[b, t, …] = values[offsets[b] + t, …]")
      .In("values", "[N, …]")
      .In("offsets", "[B + 1]: i32, i64 or u64")
      .Reference("RaggedFromOffsets", RunFromOffsets)
      .TakesHalf()
      .AddSample({.inputs = {Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Ints({4}, {0, 3, 3, 4})}})
      .AddSample({.inputs = {Uniform({5}, -1, 1), Ints({3}, {0, 2, 5}, DType::kI32)}})
      .AddSample({.inputs = {RandomInts({3}, 0, 9), Ints({2}, {0, 3}, DType::kU64)}})
      .AddSample({.inputs = {Empty({0, 3}), Ints({1}, {0})}, .note = "no sequence"});
}

}  // namespace catamaran

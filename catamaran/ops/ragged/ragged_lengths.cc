// ops/ragged/ragged_lengths.cc
//
// ragged_lengths(x) and ragged_offsets(x): how long the sequences are and where they begin.

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedLengthsSizes {
  int64_t rows;
};

inline void RaggedLengths(const int64_t* offsets, int64_t* y, const RaggedLengthsSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b) y[b] = offsets[b + 1] - offsets[b];
}

inline void RaggedOffsets(const int64_t* offsets, int64_t* y, const RaggedLengthsSizes& s) {
  std::copy_n(offsets, s.rows + 1, y);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunLengths(KernelContext& c) {
  reference::RaggedLengths(c.in(0).offsets, c.out().data<int64_t>(), {c.in(0).num_rows});
  return KernelStatus::kDone;
}

KernelStatus RunOffsets(KernelContext& c) {
  reference::RaggedOffsets(c.in(0).offsets, c.out().data<int64_t>(), {c.in(0).num_rows});
  return KernelStatus::kDone;
}

// More: results beyond one for each sequence.
OpBuilder& Measures(OpBuilder& op, int64_t more) {
  return op.Group("ragged")
      .In("x", "[B, *T, …]")
      .Traits(RaggedTraits())
      .Infer([more](InferContext& c) {
        if (WantRagged(c, 0)) c.SetResult(Type::Tensor(DType::kI64, {c.type(0).dim(0) + more}));
      })
      .Sizes("RaggedLengthsSizes",
             [](const KernelQuery& q, Words& words) { words << q.in[0]->num_rows; })
      .StopsGrad()
      .AddSample({.inputs = {Floats({4}, {1, 2, 3, 4})}, .ragged_lengths = {{3, 0, 1}}})
      .AddSample({.inputs = {RandomInts({5, 2}, 0, 9, DType::kI32)}, .ragged_lengths = {{5}}})
      .AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

}  // namespace

void DefineRaggedLengths(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_lengths");
  Measures(op, 0)
      .Doc("The length of each sequence, as i64[B].")
      .Formula("y[b] = offsets[b + 1] - offsets[b]")
      .Reference("RaggedLengths", RunLengths)
      .TakesHalf();
}

void DefineRaggedOffsets(OpSet& ops) {
  OpBuilder op = ops.Define("ragged_offsets");
  Measures(op, 1)
      .Doc(
          "Where each sequence begins among the values, and at the end their number, as i64[B + "
          "1].")
      .Formula("y[b] = length of x[0] + … + length of x[b - 1]")
      .Reference("RaggedOffsets", RunOffsets)
      .TakesHalf();
}

}  // namespace catamaran

// ops/ragged/ragged_reverse.cc
//
// ragged_reverse(x): each sequence from its end to its beginning.

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedReverseSizes {
  int64_t rows, width;
};

template <class T>
void RaggedReverse(const T* x, const int64_t* offsets, T* y, const RaggedReverseSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b) {
    const int64_t begin = offsets[b], end = offsets[b + 1];
    for (int64_t k = begin; k < end; ++k) {
      std::copy_n(x + k * s.width, s.width, y + (begin + end - 1 - k) * s.width);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunReverse(KernelContext& c) {
  const Slot& x = c.in(0);
  const int64_t width = RowWidth(x);
  DispatchWidth(x.tensor.dtype, [&]<class T>(T) {
    Split(c.pool, x.num_rows, SequenceCost(x), [&](int64_t begin, int64_t end) {
      reference::RaggedReverse(x.data<const T>(), x.offsets + begin, c.out().data<T>(),
                               {end - begin, width});
    });
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineRaggedReverse(OpSet& ops) {
  ops.Define("ragged_reverse")
      .Group("ragged")
      .Doc("Each sequence from its end to its beginning.")
      .Formula("y[b, t, …] = x[b, length - 1 - t, …]")
      .In("x", "[B, *T, …]")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantRagged(c, 0, "; flip works on dense ones")) c.SetResult(c.type(0));
      })
      .Sizes("RaggedReverseSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[0]->num_rows << RowWidth(*q.in[0]);
             })
      .Grad([](GradContext& c) { c.SetGrad(0, c.emit().Emit("ragged_reverse", {c.grad()})); })
      .Reference("RaggedReverse", RunReverse)
      .TakesHalf()
      .AddSample({.inputs = {Floats({5}, {1, 2, 3, 4, 5})}, .ragged_lengths = {{3, 0, 2}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)}, .ragged_lengths = {{1, 5}}})
      .AddSample({.inputs = {RandomInts({4, 2, 2}, 0, 9)}, .ragged_lengths = {{4}}})
      .AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

}  // namespace catamaran

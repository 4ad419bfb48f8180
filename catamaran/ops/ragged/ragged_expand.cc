// ops/ragged/ragged_expand.cc
//
// ragged_expand(x, like): the row of each sequence for each of its elements.

#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedExpandSizes {
  int64_t rows, width;
};

template <class T>
void RaggedExpand(const T* x, const int64_t* offsets, T* y, const RaggedExpandSizes& s) {
  for (int64_t b = 0; b < s.rows; ++b) {
    for (int64_t k = offsets[b]; k < offsets[b + 1]; ++k) {
      std::copy_n(x + b * s.width, s.width, y + k * s.width);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunExpand(KernelContext& c) {
  const int64_t width = RowWidth(c.in(0));
  const int64_t* offsets = c.in(1).offsets;
  DispatchWidth(c.in(0).tensor.dtype, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    T* y = c.out().data<T>();
    Split(c.pool, c.in(1).num_rows, SequenceCost(c.in(1)) * width, [&](int64_t begin, int64_t end) {
      reference::RaggedExpand(x + begin * width, offsets + begin, y, {end - begin, width});
    });
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineRaggedExpand(OpSet& ops) {
  ops.Define("ragged_expand")
      .Group("ragged")
      .Doc(
          "A value for each sequence, repeated for each element of it. Its gradient is the sum "
          "over each sequence.")
      .Formula("y[b, t, …] = x[b, …]")
      .In("x", "[B, …]")
      .In("like", "[B, *T, …]; only its lengths matter")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0) || !c.WantDense(0) || !c.WantMinRank(0, 1) || !WantRagged(c, 1)) {
          return;
        }
        const Type& like = c.type(1);
        if (!c.Unify(c.type(0).dim(0), like.dim(0), "the numbers of sequences")) return;
        c.SetResult(Joined(c.type(0), {c.type(0).dim(0), like.dim(1)}, 1, 1));
      })
      .Sizes("RaggedExpandSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[1]->num_rows << RowWidth(*q.in[0]);
             })
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.emit().Emit("ragged_pool", {c.grad()}));
      })
      .Reference("RaggedExpand", RunExpand)
      .TakesHalf()
      .AddSample({.inputs = {Floats({2, 2}, {1, 2, 3, 4}), Floats({3}, {0, 0, 0})},
                  .ragged_lengths = {{}, {1, 2}}})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Uniform({5, 2}, -1, 1)},
                  .ragged_lengths = {{}, {2, 0, 3}}})
      .AddSample({.inputs = {RandomInts({2, 2, 3}, 0, 9), Uniform({5, 2}, -1, 1)},
                  .ragged_lengths = {{}, {2, 3}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1), Empty({0})}, .ragged_lengths = {{}, {0, 0}}});
}

}  // namespace catamaran

// ops/shape/zeros_like.cc
//
// zeros_like(x): zeros of x's type.

#include <cstring>

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct ZerosLikeSizes {
  int64_t count;
};

template <class T>
void ZerosLike(const T*, T* y, const ZerosLikeSizes& s) {
  std::fill_n(y, s.count, T(0));
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

void DefineZerosLike(OpSet& ops) {
  ops.Define("zeros_like")
      .Group("shape")
      .Doc("Zeros (or false) with the type of x.")
      .Formula("0")
      .In("x", "only its type matters")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (c.WantTensor(0)) c.SetResult(c.type(0));
      })
      .Sizes("ZerosLikeSizes", [](const KernelQuery& q, Words& words) { words << q.in[0]->size(); })
      .StopsGrad()
      .Reference("ZerosLike",
                 [](KernelContext& c) {
                   const size_t bytes = c.out().tensor.num_bytes();
                   if (bytes > 0) std::memset(c.out().tensor.data, 0, bytes);
                   return KernelStatus::kDone;
                 })
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {RandomInts({4}, -9, 9)}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}});
}

}  // namespace catamaran

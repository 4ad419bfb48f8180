// ops/shape/stop_gradient.cc
//
// stop_gradient(x) = x, through which no gradient flows; shares memory.

#include <cstring>

#include "catamaran/ops/op.h"

// reference-begin
namespace catamaran::reference {

struct StopGradientSizes {
  int64_t count;
};

template <class T>
void StopGradient(const T* x, T* y, const StopGradientSizes& s) {
  if (x == y) return;
  for (int64_t i = 0; i < s.count; ++i) y[i] = x[i];
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunStopGradient(KernelContext& context) {
  const size_t bytes = context.in(0).tensor.num_bytes();
  if (bytes > 0 && context.in(0).tensor.data != context.out().tensor.data) {
    std::memcpy(context.out().tensor.data, context.in(0).tensor.data, bytes);
  }
  return KernelStatus::kDone;
}

}  // namespace

void DefineStopGradient(OpSet& ops) {
  OpTraits traits;
  traits.alias_first = true;
  traits.rowwise = true;
  ops.Define("stop_gradient")
      .Group("shape")
      .Doc("x itself, as a constant: no gradient flows through it.")
      .Formula("x")
      .In("x")
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (c.WantTensor(0)) c.SetResult(c.type(0));
      })
      .Sizes("StopGradientSizes",
             [](const KernelQuery& query, Words& words) { words << query.in[0]->size(); })
      .Reference("StopGradient", RunStopGradient)
      .StopsGrad()
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {RandomInts({4}, 0, 9)}})
      .AddSample({.inputs = {Empty({0, 3})}});
}

}  // namespace catamaran

// ops/shape/alias.h
//
// Ops whose result is their operand under another shape. The executor lets the two share memory;
// where it does not, the kernel copies.

#pragma once

#include <cstring>

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct ReshapeSizes {
  int64_t count;
};

template <class T>
void Reshape(const T* x, T* y, const ReshapeSizes& s) {
  if (x == y) return;
  for (int64_t i = 0; i < s.count; ++i) y[i] = x[i];
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

inline KernelStatus CopyUnlessShared(KernelContext& context) {
  const size_t bytes = context.in(0).tensor.num_bytes();
  if (bytes > 0 && context.in(0).tensor.data != context.out().tensor.data) {
    std::memcpy(context.out().tensor.data, context.in(0).tensor.data, bytes);
  }
  return KernelStatus::kDone;
}

// The gradient of any of them: back to the operand's shape.
inline void GradOfAlias(GradContext& c) {
  const auto dims = c.op().operand(0)->type.dims();
  c.SetGrad(
      0, c.emit().Emit("reshape", {c.grad()}, {{"shape", Attr::Dims({dims.begin(), dims.end()})}}));
}

// All but the type rule, the arguments and the samples.
inline OpBuilder& AliasOp(OpBuilder& op) {
  OpTraits traits;
  traits.alias_first = true;
  traits.understands_ragged = true;
  return op.Group("shape")
      .Traits(traits)
      .Sizes("ReshapeSizes", [](const KernelQuery& q, Words& words) { words << q.in[0]->size(); })
      .Reference("Reshape", CopyUnlessShared)
      .TakesHalf()
      .Grad(GradOfAlias)
      .Cost([](const KernelQuery&) {
        return OpCost{0, 0};
      });
}

}  // namespace catamaran

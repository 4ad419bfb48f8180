// ops/kernel_support.h
//
// Small things that the kernels and type rules of many ops share.

#pragma once

#include <algorithm>
#include <cstdint>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/op.h"

namespace catamaran {

// Ids of rows of a table: u64 or i64.
inline bool WantKeys(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  const DType dtype = c.type(i).dtype();
  if (dtype == DType::kU64 || dtype == DType::kI64) return true;
  return c.Fail("ids are u64 or i64, found " + std::string(Name(dtype)) + "; cast them");
}

// Calls body(begin, end) over [0, count), on the pool when there is enough to do. `cost` is about
// the number of operations of one of them. Where the chunks end depends on the sizes and the
// number of threads only.
template <class F>
void Split(ThreadPool* pool, int64_t count, int64_t cost, F&& body) {
  constexpr int64_t kWorth = 32768;  // operations in a chunk, about 10 µs
  const int64_t grain = std::max<int64_t>(1, kWorth / std::max<int64_t>(1, cost));
  if (count <= 0) return;
  if (pool == nullptr || pool->threads() == 1 || count <= grain) {
    body(int64_t{0}, count);
  } else {
    pool->ParallelFor(count, grain, body);
  }
}

// The number of rows of `width` elements that the slot holds this time.
inline int64_t RowsOf(const Slot& slot, int64_t width) {
  return width == 0 ? 0 : slot.size() / width;
}

// The size of the last axis; 1 for a scalar.
inline int64_t LastDim(const Slot& slot) {
  const Shape& shape = slot.shape();
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

// The sum over the last axis, kept with size 1; for gradient rules.
inline Var RowSum(Var x) {
  return x.emitter()->Emit("sum", {x}, {{"axes", Attr::Ints({-1})}, {"keepdims", true}});
}

inline OpTraits RowwiseTraits() {
  OpTraits traits;
  traits.rowwise = true;
  return traits;
}
inline OpTraits RaggedTraits() {
  OpTraits traits;
  traits.understands_ragged = true;
  return traits;
}
inline OpTraits EffectTraits() {
  OpTraits traits;
  traits.effect = true;
  return traits;
}

inline Kernel FastKernel(std::string name, KernelFn run,
                         std::function<bool(const KernelQuery&)> supports) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.run = run;
  kernel.supports = std::move(supports);
  return kernel;
}

inline bool IsF32(const KernelQuery& q) { return q.in[0]->tensor.dtype == DType::kF32; }

}  // namespace catamaran

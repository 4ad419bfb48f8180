// ops/random/random.h
//
// What random ops share: element i of a result is a function of the key and of i alone, so it is
// the same on any number of threads, and when it is computed again.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "catamaran/base/random.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/op.h"
#include "catamaran/ops/random/random_simd.h"

// reference-begin
namespace catamaran::reference {

// Uniform in [0, 1), in the precision of T.
template <class T>
T UniformElement(uint64_t key, int64_t i) {
  if constexpr (sizeof(T) == 4) {
    const PhiloxBlock block = Philox(key, static_cast<uint64_t>(i) / 4);
    return UniformFloat(block.words[i % 4]);
  } else {
    const PhiloxBlock block = Philox(key, static_cast<uint64_t>(i) / 2);
    return UniformDouble(block.words[i % 2 * 2], block.words[i % 2 * 2 + 1]);
  }
}

// Normal of mean 0 and deviation 1; the same float for every T.
template <class T>
T NormalElement(uint64_t key, int64_t i) {
  const PhiloxBlock block = Philox(key, static_cast<uint64_t>(i) / 4);
  const int64_t half = i % 4 / 2 * 2;
  const NormalPair pair = NormalFloats(block.words[half], block.words[half + 1]);
  return static_cast<T>(i % 2 == 0 ? pair.first : pair.second);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

// The key operand: one u64.
inline bool WantKey(InferContext& c, int i) {
  if (!c.WantDType(i, DType::kU64)) return false;
  return c.type(i).is_scalar() || c.Fail("the key must be one u64, such as key()");
}

// The type rule of random ops with the attributes `shape` and `dtype` and a key as operand 0.
inline void InferRandom(InferContext& c) {
  if (!WantKey(c, 0)) return;
  const DType dtype = c.op().attr("dtype").AsDType();
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return (void)c.Fail("makes f32 or f64; cast the result");
  }
  c.SetResult(Type::Tensor(dtype, c.op().attr("shape").AsDims()));
}

// Calls body(begin, end) over [0, count) on the pool; borders are multiples of 4 elements, one
// block of random bits.
template <class F>
void SplitRandom(ThreadPool* pool, int64_t count, F&& body) {
  constexpr int64_t kGrain = 4096;
  if (pool == nullptr || pool->threads() == 1 || count < 2 * kGrain) {
    if (count > 0) body(int64_t{0}, count);
  } else {
    pool->ParallelFor(count, kGrain, body);
  }
}

struct PreparedRandom final : Prepared {
  const RandomKernels* kernels = nullptr;
};

// A kernel named "blocks" that finds the vector code with RandomKernelsOf.
inline Kernel BlocksKernel(KernelFn run) {
  Kernel kernel;
  kernel.name = "blocks";
  kernel.run = run;
  kernel.prepare = [](const KernelQuery& query) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedRandom>();
    prepared->kernels = &plain::GetRandomKernels();
#if CATAMARAN_HAS_X86_ISAS
    if (query.isa == Isa::kAvx512) prepared->kernels = &avx512::GetRandomKernels();
    if (query.isa == Isa::kAvx2) prepared->kernels = &avx2::GetRandomKernels();
#else
    (void)query;
#endif
    return prepared;
  };
  return kernel;
}
inline const RandomKernels& RandomKernelsOf(const KernelContext& context) {
  return *static_cast<const PreparedRandom*>(context.prepared)->kernels;
}

inline uint64_t KeyOf(const KernelContext& context, int i) {
  return context.in(i).data<const uint64_t>()[0];
}

}  // namespace catamaran

// ops/effect/update_code.h
//
// Chooses the vector code of `update` and `average` by instruction set, and hands it to their
// kernels.

#pragma once

#include <memory>

#include "catamaran/ops/effect/update_loops.h"
#include "catamaran/ops/kernel_support.h"

namespace catamaran {

// The code built for `isa`, or for the nearest below it that was built.
const UpdateCode& FindUpdateCode(Isa isa);

// The functions that the kernel runs: those of its instruction set for a kernel made by
// UpdateKernel, the plain ones for the reference.
const UpdateCode& UpdateCodeOf(const KernelContext& c);
template <class T>
const UpdateFunctions<T>& UpdateFunctionsOf(const KernelContext& c) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return UpdateCodeOf(c).f32;
  } else {
    return UpdateCodeOf(c).f64;
  }
}

// A kernel named "vector" that prepares the code for its instruction set.
Kernel UpdateKernel(KernelFn run);

}  // namespace catamaran

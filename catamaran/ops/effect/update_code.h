// ops/effect/update_code.h
//
// Chooses the vector code of `update` and `average` by instruction set, and hands it to their
// kernels.

#pragma once

#include <memory>
#include <string>

#include "catamaran/ops/effect/update_loops.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/tensor/rows_value.h"

namespace catamaran {

// The code built for `isa`, or for the nearest below it that was built.
const UpdateCode& FindUpdateCode(Isa isa);

// The largest number that a step may learn from: its square, and the sum of very many such squares,
// is finite. What is beyond comes of an absurd label, or of a model that has diverged.
template <class T>
inline constexpr T kLargestNumber = sizeof(T) == 4 ? T(1e15) : T(1e150);

// What is wrong with a gradient that nothing must learn from: "is not finite", "has numbers beyond
// 1e+15". Empty: nothing.
template <class T>
std::string WrongNumbers(const T* numbers, int64_t count);
std::string WrongNumbers(const RowsValue& rows);

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

// ops/row_kernels.h
//
// Chooses the vector code for rows by instruction set, and hands it to kernels: a kernel made
// with VectorKernel finds it with RowKernelsOf.

#pragma once

#include <memory>
#include <string>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/row_kernels_simd.h"

namespace catamaran {

// The code built for `isa`, or for the nearest below it that was built.
const RowKernels& FindRowKernels(Isa isa);

struct PreparedRowKernels final : Prepared {
  const RowKernels* kernels = nullptr;
};

// A kernel named "vector" for f32.
Kernel VectorKernel(KernelFn run);
inline const RowKernels& RowKernelsOf(const KernelContext& c) {
  return *static_cast<const PreparedRowKernels*>(c.prepared)->kernels;
}

}  // namespace catamaran

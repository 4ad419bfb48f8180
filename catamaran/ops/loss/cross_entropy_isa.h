// ops/loss/cross_entropy_isa.h
//
// Chooses the code of cross entropies for an instruction set at run time, and hands it to kernels:
// one made with CrossEntropyKernel finds it with CrossEntropyKernelsOf.

#pragma once

#include <string>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/loss/cross_entropy_simd.h"

namespace catamaran {

// The code built for `isa`, or for the nearest below it that was built.
const CrossEntropyKernels& FindCrossEntropyKernels(Isa isa);

struct PreparedCrossEntropy final : Prepared {
  const CrossEntropyKernels* kernels = nullptr;
};
inline const CrossEntropyKernels& CrossEntropyKernelsOf(const KernelContext& c) {
  return *static_cast<const PreparedCrossEntropy*>(c.prepared)->kernels;
}

Kernel CrossEntropyKernel(std::string name, KernelFn run,
                          std::function<bool(const KernelQuery&)> supports);

}  // namespace catamaran

#include "catamaran/ops/loss/cross_entropy_isa.h"

#include <utility>

namespace catamaran {

const CrossEntropyKernels& FindCrossEntropyKernels([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetCrossEntropyKernels();
  if (isa == Isa::kAvx2) return avx2::GetCrossEntropyKernels();
#endif
  return plain::GetCrossEntropyKernels();
}

Kernel CrossEntropyKernel(std::string name, KernelFn run,
                          std::function<bool(const KernelQuery&)> supports) {
  Kernel kernel = FastKernel(std::move(name), run, std::move(supports));
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedCrossEntropy>();
    prepared->kernels = &FindCrossEntropyKernels(q.isa);
    return prepared;
  };
  return kernel;
}

}  // namespace catamaran

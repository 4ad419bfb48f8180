#include "catamaran/ops/row_kernels.h"

namespace catamaran {

const RowKernels& FindRowKernels([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetRowKernels();
  if (isa == Isa::kAvx2) return avx2::GetRowKernels();
#endif
  return plain::GetRowKernels();
}

Kernel VectorKernel(KernelFn run) {
  Kernel kernel = FastKernel("vector", run, IsF32);
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedRowKernels>();
    prepared->kernels = &FindRowKernels(q.isa);
    return prepared;
  };
  return kernel;
}

}  // namespace catamaran

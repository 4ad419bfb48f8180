#include "catamaran/ops/activation/along_axis.h"

namespace catamaran {

Kernel AlongAxisKernel(KernelFn run) {
  Kernel kernel;
  kernel.name = "vector";
  kernel.run = run;
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedAlongAxis>();
    plain::GetSoftmaxKernels(&prepared->f32, &prepared->f64);
#if CATAMARAN_HAS_X86_ISAS
    if (q.isa == Isa::kAvx2) avx2::GetSoftmaxKernels(&prepared->f32, &prepared->f64);
    if (q.isa == Isa::kAvx512) avx512::GetSoftmaxKernels(&prepared->f32, &prepared->f64);
#else
    (void)q;
#endif
    return prepared;
  };
  return kernel;
}

}  // namespace catamaran

#include "catamaran/ops/activation/along_axis.h"

namespace catamaran {

void FindSoftmaxKernels([[maybe_unused]] Isa isa, SoftmaxKernels<float>* f32,
                        SoftmaxKernels<double>* f64) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetSoftmaxKernels(f32, f64);
  if (isa == Isa::kAvx2) return avx2::GetSoftmaxKernels(f32, f64);
#endif
  plain::GetSoftmaxKernels(f32, f64);
}

Kernel AlongAxisKernel(KernelFn run) {
  Kernel kernel;
  kernel.name = "vector";
  kernel.run = run;
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedAlongAxis>();
    FindSoftmaxKernels(q.isa, &prepared->f32, &prepared->f64);
    return prepared;
  };
  return kernel;
}

}  // namespace catamaran

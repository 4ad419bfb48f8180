// ops/elementwise_kernel.h
//
// The kernels of all elementwise ops: the vector interpreter, which runs an op's formula one
// primitive at a time over a piece that stays in the first cache, and the reference, which runs
// it element by element.

#pragma once

#include "catamaran/ir/kernel.h"

namespace catamaran {

// Runs the formula in `def().scalar` of the op it is called for.
Kernel ElementwiseVectorKernel();
KernelStatus RunElementwiseReference(KernelContext& context);

}  // namespace catamaran

// ops/reduction/reduce_vector.h
//
// The vector kernel of the reductions, for any set of axes. The shape is seen as runs of axes that
// go and axes that stay, in turn; the innermost run is either folded along rows or row by row
// into many columns at once. Large reductions with few results are cut into pieces whose borders
// depend on the sizes only, so that threads change no bits.

#pragma once

#include "catamaran/ops/reduction/reduce.h"
#include "catamaran/ops/reduction/reduce_simd.h"

namespace catamaran {

struct ReduceChoice {
  ReduceKind kind;
  ReduceFinish::Mode mode = ReduceFinish::kValue;
  bool fits = true;
};

// `choose` says what the op does with these operands. Where there is nothing to reduce, and where
// no vector code fits, `reference` runs.
Kernel VectorReduceKernel(ReduceChoice (*choose)(const KernelQuery&), KernelFn reference);

}  // namespace catamaran

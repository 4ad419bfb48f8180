// ops/vector_isa.h
//
// Chooses the code for an instruction set at run time.

#pragma once

#include "catamaran/base/cpu.h"
#include "catamaran/ops/fused_simd.h"
#include "catamaran/ops/half_simd.h"
#include "catamaran/ops/vector_simd.h"

namespace catamaran {

// As plain::FindVector, of the code built for `isa` (or the nearest below it that was built).
VectorFn FindVector(Isa isa, ScalarKind kind, VectorType type, unsigned scalars);

HalfFunctions FindHalfFunctions(Isa isa);
VectorFn FindFused(Isa isa, FusedFormula formula);

}  // namespace catamaran

// ops/fused_formulas.h
//
// Which formulas have vector code of their own (ops/fused_simd.h). They are found by the formula
// and not by the op, so that an op that computes the same thing has it too.

#pragma once

#include "catamaran/base/cpu.h"
#include "catamaran/ops/scalar_expr.h"
#include "catamaran/ops/vector_simd.h"

namespace catamaran {

// The code that does all of `f` at once on f32, its inputs as arguments, or null. Bit k of
// `scalars` says that input k is one element.
VectorFn FindFusedFormula(const ScalarFunction& f, Isa isa, unsigned scalars);

}  // namespace catamaran

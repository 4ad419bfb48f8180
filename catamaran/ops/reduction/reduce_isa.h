// ops/reduction/reduce_isa.h
//
// Chooses the reductions' code for an instruction set at run time.

#pragma once

#include "catamaran/base/cpu.h"
#include "catamaran/ops/reduction/reduce_simd.h"

namespace catamaran {

// Of the code built for `isa`, or the nearest below it that was built.
const ReduceFunctions& ReduceFunctionsFor(Isa isa);

}  // namespace catamaran

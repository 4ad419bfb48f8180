// tensor/cast_isa.h
//
// Chooses the code that converts elements, for CastInto and its tests.

#pragma once

#include "catamaran/base/cpu.h"
#include "catamaran/tensor/cast_simd.h"
#include "catamaran/tensor/dtype.h"

namespace catamaran {

// Of the code built for `isa`, or the nearest below it that was built.
CastFn FindCast(Isa isa, DType from, DType to);

}  // namespace catamaran

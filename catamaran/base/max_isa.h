// base/max_isa.h
//
// The one setting of the whole process among instruction sets: DetectIsa (cpu.h) finds no higher
// one than this. The libraries that we call have one such setting too; ops/max_isa.h sets both.

#pragma once

#include "catamaran/base/cpu.h"

namespace catamaran {

// To be called at start, before anything is compiled or loaded: what was chosen before stays.
void SetMaxDetectedIsa(Isa max);

}  // namespace catamaran

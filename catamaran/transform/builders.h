// transform/builders.h
//
// The transforms that ship with the library, as builders: `grad`, `clip`, and the optimizers.

#pragma once

#include "catamaran/ir/builder_set.h"

namespace catamaran {

void AddTransforms(BuilderSet& builders);

// The parts of AddTransforms.
void AddGrad(BuilderSet& builders);
void AddClip(BuilderSet& builders);
void AddOptimizers(BuilderSet& builders);

}  // namespace catamaran

// transform/builders.h
//
// The transforms that ship with the library, as builders: `grad`, `clip`, `accumulate`, the
// optimizers with their schedules, and moving averages of what they train.

#pragma once

#include "catamaran/ir/builder_set.h"

namespace catamaran {

void AddTransforms(BuilderSet& builders);

// The parts of AddTransforms.
void AddGrad(BuilderSet& builders);
void AddClip(BuilderSet& builders);
void AddAccumulate(BuilderSet& builders);
void AddSchedules(BuilderSet& builders);
void AddPlateau(BuilderSet& builders);
void AddOptimizers(BuilderSet& builders);
void AddAverages(BuilderSet& builders);

}  // namespace catamaran

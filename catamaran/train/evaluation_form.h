// train/evaluation_form.h
//
// The function that evaluates, without training inside: a loss that calls its network with
// `training=true` would measure it with dropout, and with the statistics of the batch.

#pragma once

#include <string>

#include "catamaran/ir/program.h"

namespace catamaran {

// The flat function of that name, or one derived from it (and added to the program) where every
// call with the static argument `training=true`, also inside what it calls, is one with
// `training=false`. A ProgramError at the line of a call if its function was never specialised so:
// it has no default, and nobody calls it with training=false.
std::string WithoutTraining(Program& flat, const std::string& function);

}  // namespace catamaran

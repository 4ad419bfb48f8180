// transform/learning_rate.h
//
// A number that may follow a schedule: the argument `lr` of an optimizer is a number, or a function
// from the number of updates done so far (i64[], 0 at first) to a scalar. A schedule is such a
// function, made by a builder: `lr=cosine(0.1, steps=1000)`.

#pragma once

#include <string>

#include "catamaran/ir/builder_set.h"

namespace catamaran {

// The parameter of that name, to be given to a builder. `value` is its default.
StaticParam RateParam(std::string name, double value, std::string doc);

// Whether f takes a step, i64[], and returns one floating-point number.
bool IsSchedule(const Function& f);

// The value of that argument at `step`, a value of the function that `emit` writes: an f64
// constant, or what the schedule says. Reports a schedule of another type.
Var EmitRate(BuildContext& c, Emitter& emit, std::string_view name, Var step);

}  // namespace catamaran

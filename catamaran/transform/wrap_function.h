// transform/wrap_function.h
//
// What transforms of functions share: a new function with the arguments of another, that calls
// it and goes on with its results.

#pragma once

#include <vector>

#include "catamaran/ir/builder_set.h"

namespace catamaran {

// The instance's function, with the arguments of `inner` and nothing in it yet.
Function& BeginWrap(BuildContext& c, const Function& inner);
// Calls `inner` with all arguments of the function that `emit` writes.
std::vector<Var> CallInner(Emitter& emit, const Function& inner);

// Ends the function with `results`, named as `names` says.
void EndWrap(BuildContext& c, Emitter& emit, const std::vector<Var>& results,
             std::vector<FunctionResult> names);

// A copy of `inner` with all its calls in place, its commit region included, as the instance's
// function; not finished yet.
Function& BeginCopy(BuildContext& c, const Function& inner);

// The result by which a gradient function says whether its gradients are to be applied this time,
// a bool[] (accumulate has one); -1 when they always are.
int ReadyResult(const Function& f);
inline constexpr char kReady[] = "ready";

// The state whose gradient result `r` is, or null for an ordinary result.
const StateDecl* GradientOf(const Program& program, const FunctionResult& r);

}  // namespace catamaran

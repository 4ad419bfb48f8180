// ir/flatten.h
//
// From a program as written to a flat one: expands instances of builders and imports,
// specialises functions by their static arguments, infers every type, and verifies the result.
// All mistakes that can be found in one go are reported together, in a ProgramError.
//
// In the flat program an instance `fc1 = linear(…)` is a function `fc1` and states under
// `@fc1.`; a specialised function is called `net[training=true]`; `f.pure` is f without its
// commit region. Calls stay calls.

#pragma once

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {

// The result shares the op set and the source table of `program`.
Program Flatten(const Program& program, const BuilderSet& builders);

// The function of that name in a flat program; `name` may be `f`, `f.pure`, or a
// specialisation. Throws an Error with a suggestion when there is none. Adds `f.pure` to the
// program when it is asked for first.
Function& FindOrDerive(Program& flat, std::string_view name);

// f with every call replaced by the callee's ops; the callees' commit regions are appended to
// f's in call order. Throws a ProgramError when two writes of one state meet, or when the
// result grows past kMaxInlinedOps.
std::unique_ptr<Function> InlineCalls(const Program& flat, const Function& f);
inline constexpr int64_t kMaxInlinedOps = 20'000'000;

// The states that f (with all it calls) reads and writes, sorted.
struct Effects {
  std::vector<std::string> reads, writes;
};
Effects InferEffects(const Program& program, const Function& f);

// Structural rules of a flat program: SSA dominance, one terminator at the end of each block,
// effects only in commit regions, one write a state, no recursion, types agree with the ops'
// rules. Reports into `diagnostics`.
void Verify(const Program& flat, Diagnostics& diagnostics);
void VerifyOrThrow(const Program& flat);

}  // namespace catamaran

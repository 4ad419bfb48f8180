// ops/op_runner.h
//
// Runs a typed straight-line function, one op after another, without an executor: for the tests
// of single ops and of their gradients. It binds dimensions, chooses kernels and allocates as
// plainly as possible. Functions with calls, control flow, state, stacks or commit regions are
// refused with an Error.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/ir/program.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

class ThreadPool;

struct RunnerValue {
  Tensor tensor;
  std::vector<int64_t> lengths = {};  // of a ragged value: of its sequences
};

struct RunnerOptions {
  Isa isa = Isa::kPlain;
  std::string kernel;  // the one to take where an op has it; empty: the first that fits
  ThreadPool* pool = nullptr;
};

// The results of `function` for these arguments. An argument left out is an empty Tensor with the
// shape [0], where the function has no such parameter.
std::vector<Tensor> RunStraight(const Function& function, std::span<const RunnerValue> arguments,
                                const RunnerOptions& options);

// The same with the lengths of the sequences of ragged results.
std::vector<RunnerValue> RunStraightValues(const Function& function,
                                           std::span<const RunnerValue> arguments,
                                           const RunnerOptions& options);

// The names of the kernels of `op` that fit these arguments, in the order in which they are tried.
// `op` is the first op of the function that is not structural.
std::vector<std::string> FittingKernels(const Function& function,
                                        std::span<const RunnerValue> arguments, Isa isa);

}  // namespace catamaran

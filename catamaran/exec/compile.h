// exec/compile.h
//
// From a function of a flat program to something that runs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "catamaran/base/cpu.h"
#include "catamaran/ir/program.h"

namespace catamaran {

class Executable;

// Both give the same bits.
enum class Schedule : uint8_t {
  kProgramOrder,  // op after op on the calling thread; kernels may use the pool
  kReadyOps,      // every op as soon as its operands are there, on the pool
};

struct CompileOptions {
  int threads = 1;  // of the Executable's own pool, the caller included
  Schedule schedule = Schedule::kProgramOrder;
  Isa isa = DetectIsa();
  size_t max_shape_instances = 16;
  std::string force_kernel;  // "reference": run that kernel wherever an op has it
};

// Throws an Error, with the line, when there is no such function (with a suggestion) or when
// something in it cannot be run.
std::shared_ptr<const Executable> Compile(const Program& flat, std::string_view function,
                                          const CompileOptions& options = {});
// The same for a call-free, typed function that need not be in the program.
std::shared_ptr<const Executable> Compile(const Program& flat, std::unique_ptr<Function> function,
                                          const CompileOptions& options = {});

}  // namespace catamaran

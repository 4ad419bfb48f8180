// ir/choose_kernel.h
//
// Which kernel of an op runs for given operands, ready to be called. Whoever runs ops (the
// executor, the runner of the ops' tests) asks here.
//
// f16 and bf16 are for storage; arithmetic is done in f32. A kernel that does not take them as they
// are (Kernel::half) is called on f32 copies of such operands, and its results are rounded, so that
// every op accumulates in f32 and an op's file need not speak of them.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "catamaran/ir/kernel.h"

namespace catamaran {

struct OpDef;

// A kernel chosen for one set of shapes, with what its context needs.
struct ChosenKernel {
  const Kernel* kernel = nullptr;
  KernelFn run = nullptr;
  std::vector<int64_t> sizes;  // the struct of sizes, word by word
  std::unique_ptr<Prepared> prepared;
  size_t scratch = 0;  // bytes
};

// The first kernel of the op that supports the query, or the one named `preferred` if that does.
// `query.sizes` need not be set. Throws an Error when there is none.
ChosenKernel ChooseKernel(KernelQuery query, std::string_view preferred = {});

// The names of all kernels that support the query, in the order in which they are tried.
std::vector<std::string_view> FittingKernels(KernelQuery query);

// Whether f16 and bf16 operands of this op may be replaced by copies: not where its result refers
// to their memory, where it works on state, or where it completes later.
bool CanWiden(const OpDef& def);

}  // namespace catamaran

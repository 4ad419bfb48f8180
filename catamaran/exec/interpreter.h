// exec/interpreter.h
//
// Runs the steps of a strand: op after op, and into and out of the blocks of `if`, `for` and
// `while`, on a stack of its own.

#pragma once

#include "catamaran/exec/frame.h"

namespace catamaran {

// Runs until the strand ends (true; strand.error says whether it failed) or a kernel completes
// later (false; then the strand must not be touched any more: it may be running elsewhere).
bool Advance(Strand& strand);

// The `complete` of every context: carries on where the strand stands.
void OnComplete(KernelContext& context, std::exception_ptr error);

// Kernels of the executor's own.
KernelStatus RunControl(KernelContext& context);  // kControl
KernelStatus RunAlias(KernelContext& context);
KernelStatus RunKey(KernelContext& context);
KernelStatus RunDeciding(KernelContext& context);  // a kernel that decides a size

}  // namespace catamaran

// ir/structural_ops.h
//
// The ops that belong to the language and not to a library: calls, control flow, state reads,
// constants, keys and the commit region. Every OpSet has them; the executor runs them itself.

#pragma once

namespace catamaran {

class OpSet;

void DefineStructuralOps(OpSet& ops);

}  // namespace catamaran

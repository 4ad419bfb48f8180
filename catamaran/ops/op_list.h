// ops/op_list.h
//
// The explicit list of all ops that the library brings. The build writes its definition from the
// functions `void DefineXxx(OpSet& ops)` of the files in this folder.

#pragma once

namespace catamaran {

class OpSet;

// Adds every op of this folder to `ops`. Throws an Error when a name is taken.
void DefineAllOps(OpSet& ops);

}  // namespace catamaran

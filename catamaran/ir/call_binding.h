// ir/call_binding.h
//
// How a call binds the callee's dimension names to the caller's sizes.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "catamaran/ir/infer.h"

namespace catamaran {

using DimBinding = std::map<std::string, Dim>;

// Matches the operands' types with the callee's parameters, reporting at the call what does not
// fit. Names that only the callee knows (its `?` dimensions) get fresh names of the caller.
// Returns nothing after reporting.
std::optional<DimBinding> BindCall(InferContext& call, const Function& callee);

}  // namespace catamaran

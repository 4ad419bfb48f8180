// serve/wire/request_parameters.h
//
// What a request says beside its inputs, as parameters:
//
//   timeout         microseconds until the answer is of no use
//   session         text: what later requests are joined by; so is sequence_id, text or number
//   event_time_ns   nanoseconds since 1970
//   log             bool: whether feedback may come for it
//
// Others mean nothing here and are passed over, as the protocol has it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "catamaran/serve/infer.h"

namespace catamaran {

using Parameter = std::variant<bool, int64_t, double, std::string>;

// An Error that names the parameter if its value is of the wrong type or range.
void ApplyParameter(InferRequest& request, std::string_view name, const Parameter& value);

}  // namespace catamaran

// exec/op_error.h
//
// Errors of a running program name the user's line and op, and the way to it.

#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/ir/program.h"

namespace catamaran {

// An Error that names its place already: nothing is put before its message.
class LocatedError final : public Error {
 public:
  using Error::Error;
};

// "models/x.ctm:7: div: what" and a line for each frame: "  in linear fc1, models/x.ctm:3".
std::string OpMessage(const Op& op, const SourceTable& sources, std::string_view what);

// Turns what a kernel threw into an Error with that message and the code of what was thrown: memory
// that ran out stays resource exhausted, a damaged file stays storage. A LocatedError, and what is
// no std::exception, are passed on as they are.
std::exception_ptr WithOp(const Op& op, const SourceTable& sources, std::exception_ptr error);

// Runs `body`; what it throws is rethrown with the op's message.
template <class F>
auto NamingOp(const Op& op, const SourceTable& sources, F&& body) {
  try {
    return body();
  } catch (...) {
    std::rethrow_exception(WithOp(op, sources, std::current_exception()));
  }
}

}  // namespace catamaran

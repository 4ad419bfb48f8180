// serve/guarded.h
//
// Where exceptions of a request become its Status.

#pragma once

#include <exception>

#include "catamaran/base/error.h"
#include "catamaran/serve/status.h"

namespace catamaran {

// Of the exception that is being handled.
inline Status StatusOfException() {
  try {
    throw;
  } catch (const std::exception& error) {
    return {StatusCodeOf(CodeOf(error)), DescribeError(error)};
  }
}

// What `body` returns; what it throws as a Status.
template <class Body>
Status Guarded(const Body& body) {
  try {
    return body();
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace catamaran

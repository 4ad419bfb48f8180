// serve/guarded.h
//
// Where exceptions of a request become its Status.

#pragma once

#include <exception>
#include <new>

#include "catamaran/base/error.h"
#include "catamaran/base/storage_error.h"
#include "catamaran/serve/status.h"

namespace catamaran {

// Of the exception that is being handled.
inline Status StatusOfException() {
  try {
    throw;
  } catch (const StorageError& error) {
    return {StatusCode::kInternal, error.what()};
  } catch (const Error& error) {
    return {StatusCode::kInvalidArgument, error.what()};
  } catch (const std::bad_alloc&) {
    return {StatusCode::kResourceExhausted, "there is not enough memory for this request"};
  } catch (const std::exception& error) {
    return {StatusCode::kInternal, error.what()};
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

// serve/status.h
//
// How a request ended. Requests end on other threads than they began, and a wrong one is nothing
// unusual, so their ends are values; what is wrong with a program, a file or a setting is an Error
// as everywhere, and becomes a Status where a request brought it up.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

// Each has a word in gRPC and in HTTP.
enum class StatusCode : uint8_t {
  kOk,
  kInvalidArgument,     // the request is wrong, and stays so
  kNotFound,            // no such model, version, commit
  kFailedPrecondition,  // right in itself, but not in the state that things are in
  kResourceExhausted,   // a queue or a quota is full: try again, later or with less
  kDeadlineExceeded,
  kUnavailable,  // starting, going down: try again, here or elsewhere
  kCancelled,
  kUnauthenticated,
  kPermissionDenied,
  kInternal,  // our mistake, or the machine's
};

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  std::string message;  // for the user; empty if all went well

  Status() = default;
  Status(StatusCode with, std::string text) : code(with), message(std::move(text)) {}
  bool ok() const { return code == StatusCode::kOk; }
};

// "OK", "INVALID_ARGUMENT", …
constexpr const char* Name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kInternal:
      return "INTERNAL";
  }
  return "INTERNAL";
}

// How a request ends whose work ended with an Error of this code. INVALID_ARGUMENT is for the
// caller's mistakes alone.
constexpr StatusCode StatusCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidProgram:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kBadData:
      return StatusCode::kInvalidArgument;
    case ErrorCode::kUnavailable:
      return StatusCode::kUnavailable;
    case ErrorCode::kResourceExhausted:
      return StatusCode::kResourceExhausted;
    case ErrorCode::kCancelled:
      return StatusCode::kCancelled;
    case ErrorCode::kStorage:
    case ErrorCode::kInternal:
      return StatusCode::kInternal;
  }
  return StatusCode::kInternal;
}

}  // namespace catamaran

// base/error.h
//
// Error is the exception type of the library. Its message is for the user: it says what was being
// done, to what, what was found and what was wanted. Its code is for the program: whoever catches
// an Error knows from the code whether to retry, to refuse, to halt or to report a bug.
//
// Public functions check their input and Fail(); private ones state what they rely on with
// CATAMARAN_CHECK, which stays in optimised builds.

#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace catamaran {

enum class ErrorCode : uint8_t {
  kInvalidProgram,     // the program is wrong; it has to be edited
  kInvalidArgument,    // the caller is wrong; the same call fails again
  kBadData,            // rows, labels or values that nothing can be learned from
  kUnavailable,        // something outside does not answer; the same call may succeed later
  kResourceExhausted,  // memory, threads, descriptors or room on a disk ran out
  kStorage,            // a file cannot be read or written, or is damaged
  kCancelled,          // the caller cancelled, or its deadline has passed
  kInternal,           // a bug of ours
};

// "invalid program", "bad data", …
std::string_view ErrorCodeName(ErrorCode code);

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ErrorCode code = ErrorCode::kInvalidArgument)
      : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// The code of any exception: an Error's own; memory, threads and descriptors that ran out are
// resource exhausted; everything else is internal.
ErrorCode CodeOf(const std::exception& error);
// Of the exception that is being handled.
ErrorCode CodeOfCurrentException();

// The message of any exception. Exceptions of the standard library get our own wording.
std::string DescribeError(const std::exception& error);

namespace internal {
[[noreturn]] void ThrowError(ErrorCode code, fmt::string_view format, fmt::format_args args);
[[noreturn]] void ThrowCheckFailed(const char* file, int line, const char* condition,
                                   const std::string& message);
}  // namespace internal

// Throws an Error with the formatted message; the caller's mistake where no code is given.
template <typename... Args>
[[noreturn]] void Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  internal::ThrowError(code, format, fmt::make_format_args(args...));
}
template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  internal::ThrowError(ErrorCode::kInvalidArgument, format, fmt::make_format_args(args...));
}

}  // namespace catamaran

// CATAMARAN_CHECK(condition) or CATAMARAN_CHECK(condition, "format", args...): throws an internal
// Error that begins with "internal error" if the condition does not hold. The message is only
// formatted then.
#define CATAMARAN_CHECK(condition, ...)                                                           \
  do {                                                                                            \
    if (!(condition)) [[unlikely]] {                                                              \
      ::catamaran::internal::ThrowCheckFailed(                                                    \
          __FILE__, __LINE__, #condition, ::std::string(__VA_OPT__(::fmt::format(__VA_ARGS__)))); \
    }                                                                                             \
  } while (false)

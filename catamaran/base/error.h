// base/error.h
//
// Error is the one exception type of the library. Its message is for the user: it says what was
// being done, to what, what was found and what was wanted.
//
// Public functions check their input and Fail(); private ones state what they rely on with
// CATAMARAN_CHECK, which stays in optimised builds.

#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace catamaran {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace internal {
[[noreturn]] void ThrowError(fmt::string_view format, fmt::format_args args);
[[noreturn]] void ThrowCheckFailed(const char* file, int line, const char* condition,
                                   const std::string& message);
}  // namespace internal

// Throws an Error with the formatted message.
template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  internal::ThrowError(format, fmt::make_format_args(args...));
}

}  // namespace catamaran

// CATAMARAN_CHECK(condition) or CATAMARAN_CHECK(condition, "format", args...): throws an Error that
// begins with "internal error" if the condition does not hold. The message is only formatted then.
#define CATAMARAN_CHECK(condition, ...)                                                           \
  do {                                                                                            \
    if (!(condition)) [[unlikely]] {                                                              \
      ::catamaran::internal::ThrowCheckFailed(                                                    \
          __FILE__, __LINE__, #condition, ::std::string(__VA_OPT__(::fmt::format(__VA_ARGS__)))); \
    }                                                                                             \
  } while (false)

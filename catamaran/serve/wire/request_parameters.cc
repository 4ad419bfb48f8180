#include "catamaran/serve/wire/request_parameters.h"

#include <algorithm>
#include <chrono>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// A deadline further away is none; sums of times stay far from overflowing.
constexpr int64_t kMaxTimeoutUs = int64_t{3600} * 1'000'000;

template <class T>
const T& Get(std::string_view name, const Parameter& value, std::string_view wanted) {
  if (const T* got = std::get_if<T>(&value)) return *got;
  Fail("parameter '{}' must be {}", name, wanted);
}

}  // namespace

void ApplyParameter(InferRequest& request, std::string_view name, const Parameter& value) {
  if (name == "timeout") {
    const int64_t us = Get<int64_t>(name, value, "a number of microseconds");
    if (us < 0) Fail("parameter 'timeout' must not be negative");
    if (us > 0 && us <= kMaxTimeoutUs) {
      request.deadline = std::min(request.deadline,
                                  std::chrono::steady_clock::now() + std::chrono::microseconds(us));
    }
  } else if (name == "session") {
    request.session = Get<std::string>(name, value, "a text");
  } else if (name == "sequence_id") {
    if (!request.session.empty()) return;
    if (const int64_t* number = std::get_if<int64_t>(&value)) {
      request.session = *number == 0 ? "" : std::to_string(*number);
    } else {
      request.session = Get<std::string>(name, value, "a text or a number");
    }
  } else if (name == "event_time_ns") {
    request.event_time_ns = Get<int64_t>(name, value, "a number of nanoseconds since 1970");
    if (request.event_time_ns < 0) Fail("parameter 'event_time_ns' must not be negative");
  } else if (name == "log") {
    request.log = Get<bool>(name, value, "true or false");
  }
}

}  // namespace catamaran

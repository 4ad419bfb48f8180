// cli/train/durations.h
//
// Counts and times on a command line: "1000", "30s", "5m", "12h", "1d".

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace catamaran::cli {

struct CountOrTime {
  int64_t count = 0;
  int64_t nanoseconds = 0;  // one of the two is 0
};

// A whole number above 0, or nothing.
std::optional<int64_t> ParseCount(const std::string& text);
// An error of usage that names `option` for anything else.
CountOrTime ParseCountOrTime(const std::string& text, const char* option);
// Of "s", "ms", "us" or "ns".
int64_t NanosecondsOf(const std::string& unit);

}  // namespace catamaran::cli

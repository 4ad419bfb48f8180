#include "cli/train/durations.h"

#include <charconv>

#include "cli/session.h"

namespace catamaran::cli {

std::optional<int64_t> ParseCount(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return {};
  return value;
}

CountOrTime ParseCountOrTime(const std::string& text, const char* option) {
  if (const auto count = ParseCount(text)) return {*count, 0};
  struct Unit {
    char letter;
    int64_t seconds;
  };
  constexpr Unit kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.letter)) continue;
    const auto count = ParseCount(text.substr(0, text.size() - 1));
    if (count && *count < 100'000'000) return {0, *count * unit.seconds * 1'000'000'000};
  }
  throw CommandError(
      kUsage, fmt::format("{} {}: wanted a number, or a time as 30s, 5m, 2h, 1d", option, text));
}

int64_t NanosecondsOf(const std::string& unit) {
  if (unit == "ms") return 1'000'000;
  if (unit == "us") return 1'000;
  return unit == "ns" ? 1 : 1'000'000'000;
}

}  // namespace catamaran::cli

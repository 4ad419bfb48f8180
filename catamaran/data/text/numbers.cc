#include "catamaran/data/text/numbers.h"

#include <array>
#include <charconv>
#include <cmath>

namespace catamaran {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// from_chars knows no plus sign.
std::string_view WithoutPlus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && (IsDigit(text[1]) || text[1] == '.')) {
    text.remove_prefix(1);
  }
  return text;
}

// Powers of ten that f32 holds exactly.
constexpr float kTens[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};

// Few digits, with a point or without: the digits as an integer and the power of ten are both exact
// in f32, so that one division rounds once.
bool ParseShortF32(std::string_view text, float* value) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  if (end - at > 9 || at == end) return false;
  uint32_t digits = 0;
  const char* point = nullptr;
  for (; at != end; ++at) {
    if (IsDigit(*at)) {
      digits = digits * 10 + static_cast<uint32_t>(*at - '0');
    } else if (*at == '.' && point == nullptr) {
      point = at;
    } else {
      return false;
    }
  }
  const auto decimals = static_cast<size_t>(point != nullptr ? end - point - 1 : 0);
  const size_t written = text.size() - (negative ? 1 : 0) - (point != nullptr ? 1 : 0);
  if (digits > (1u << 24) || written == 0) return false;
  const float magnitude = static_cast<float>(digits) / kTens[decimals];
  *value = negative ? -magnitude : magnitude;
  return true;
}

bool ParseLongF32(std::string_view text, float* value) {
  const std::string_view number = WithoutPlus(text);
  const char* const end = number.data() + number.size();
  float parsed = 0;
  auto answer = std::from_chars(number.data(), end, parsed);
  if (answer.ptr != end || number.empty()) return false;
  if (answer.ec == std::errc::result_out_of_range) {
    // Too large, or too small: the wider type tells which, but for numbers beyond its own range.
    double wide = 0;
    answer = std::from_chars(number.data(), end, wide);
    if (answer.ec == std::errc::result_out_of_range) {
      const size_t exponent = number.find_first_of("eE");
      const bool small = exponent == std::string_view::npos
                             ? number.find_first_of("123456789") > number.find('.')
                             : number.substr(exponent + 1).starts_with('-');
      if (!small) return false;
      wide = number.starts_with('-') ? -0.0 : 0.0;
    }
    if (std::fabs(wide) > 1) return false;
    parsed = static_cast<float>(wide);
  } else if (answer.ec != std::errc()) {
    return false;
  }
  *value = parsed;
  return true;
}

template <class Int>
bool ParseInteger(std::string_view text, Int* value) {
  text = WithoutPlus(text);
  const char* const end = text.data() + text.size();
  Int parsed = 0;
  const auto answer = std::from_chars(text.data(), end, parsed);
  if (answer.ec != std::errc() || answer.ptr != end) return false;
  *value = parsed;
  return true;
}

// What each character means as a hexadecimal digit; 16 or more: nothing.
constexpr std::array<uint8_t, 256> kHexDigits = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(0xff);
  for (int i = 0; i < 10; ++i) digits[static_cast<size_t>('0' + i)] = static_cast<uint8_t>(i);
  for (int i = 0; i < 6; ++i) {
    digits[static_cast<size_t>('a' + i)] = static_cast<uint8_t>(10 + i);
    digits[static_cast<size_t>('A' + i)] = static_cast<uint8_t>(10 + i);
  }
  return digits;
}();

}  // namespace

bool ParseF32(std::string_view text, float* value) {
  return ParseShortF32(text, value) || ParseLongF32(text, value);
}

bool ParseI64(std::string_view text, int64_t* value) { return ParseInteger(text, value); }

bool ParseU8(std::string_view text, uint8_t* value) { return ParseInteger(text, value); }

bool ParseHex64(std::string_view text, int64_t* value) {
  if (text.empty() || text.size() > 16) return false;
  uint64_t bits = 0;
  uint8_t all = 0;
  for (const char c : text) {
    const uint8_t digit = kHexDigits[static_cast<uint8_t>(c)];
    all |= digit;
    bits = bits << 4 | digit;
  }
  if (all >= 16) return false;
  *value = static_cast<int64_t>(bits);
  return true;
}

}  // namespace catamaran

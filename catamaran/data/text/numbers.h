// data/text/numbers.h
//
// Numbers from text, exactly: the nearest f32 to what is written, rounded once. Nothing depends on
// the locale.

#pragma once

#include <cstdint>
#include <string_view>

namespace catamaran {

// Each returns false, and leaves `value` alone, unless all of `text` is a number of that kind that
// fits. Decimal, with a sign or without. f32 also takes exponents, "inf" and "nan" in any case;
// what is too small becomes a subnormal or zero, what is too large does not fit.
bool ParseF32(std::string_view text, float* value);
bool ParseI64(std::string_view text, int64_t* value);
bool ParseU8(std::string_view text, uint8_t* value);

// Hexadecimal digits, 16 at most, upper or lower case, without sign or prefix; the bits as they
// are.
bool ParseHex64(std::string_view text, int64_t* value);

}  // namespace catamaran

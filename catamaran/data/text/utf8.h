// data/text/utf8.h
//
// Whether bytes are UTF-8, and code points as UTF-8.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace catamaran {

// The offset of the first byte that is no part of well-formed UTF-8 (overlong forms, surrogates and
// what lies beyond U+10FFFF are not); text.size() if all of it is.
size_t FindBadUtf8(std::string_view text);

// REQUIRES: a code point, not a surrogate.
void AppendUtf8(uint32_t code_point, std::string* out);

}  // namespace catamaran

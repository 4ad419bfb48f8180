#include "catamaran/data/text/utf8.h"

#include <cstring>

namespace catamaran {

size_t FindBadUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at >= 8) {
      uint64_t word;
      std::memcpy(&word, text.data() + at, 8);
      if ((word & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const auto byte = [&](size_t i) -> uint32_t {
      return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
    };
    const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const uint32_t lead = byte(at);
    if (lead < 0x80) {
      ++at;
    } else if (lead >= 0xc2 && lead <= 0xdf) {
      if (!follows(at + 1)) return at;
      at += 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      const uint32_t second = byte(at + 1);
      if (!follows(at + 1) || !follows(at + 2)) return at;
      if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0)) return at;
      at += 3;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      const uint32_t second = byte(at + 1);
      if (!follows(at + 1) || !follows(at + 2) || !follows(at + 3)) return at;
      if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90)) return at;
      at += 4;
    } else {
      return at;
    }
  }
  return text.size();
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  const auto put = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  const auto rest = [&](int shift) { put(0x80 | ((code_point >> shift) & 0x3f)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    rest(0);
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    rest(6);
    rest(0);
  } else {
    put(0xf0 | code_point >> 18);
    rest(12);
    rest(6);
    rest(0);
  }
}

}  // namespace catamaran

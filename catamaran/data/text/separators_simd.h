// data/text/separators_simd.h
//
// Where rows and fields end, found 64 bytes at a time; compiled once for every instruction set,
// with the same result.

#pragma once

#include <cstddef>
#include <cstdint>

namespace catamaran {

// Looks at text[0, n), whose first byte has the position `position`, and writes the positions of
// every separator and newline outside of quotes to `ends`; returns how many. `quote` 0: no quotes.
// In and out: *in_quotes, whether the text begins (ends) between quotes; *quotes is set if there is
// any quote. REQUIRES: 64 readable bytes behind the text, and room for n in `ends`.
using FindSeparatorsFn = size_t (*)(const char* text, size_t n, uint32_t position, char separator,
                                    char quote, bool* in_quotes, bool* quotes, uint32_t* ends);

namespace plain {
size_t FindSeparators(const char* text, size_t n, uint32_t position, char separator, char quote,
                      bool* in_quotes, bool* quotes, uint32_t* ends);
}
namespace avx2 {
size_t FindSeparators(const char* text, size_t n, uint32_t position, char separator, char quote,
                      bool* in_quotes, bool* quotes, uint32_t* ends);
}
namespace avx512 {
size_t FindSeparators(const char* text, size_t n, uint32_t position, char separator, char quote,
                      bool* in_quotes, bool* quotes, uint32_t* ends);
}

}  // namespace catamaran

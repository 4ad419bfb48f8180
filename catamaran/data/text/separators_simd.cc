#include "catamaran/data/text/separators_simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace catamaran::CATAMARAN_ISA {
namespace {

// Bit i: whether text[i] is c, for 64 bytes.
inline uint64_t EqualBits(const char* text, char c) {
#if defined(__AVX512BW__)
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(text), _mm512_set1_epi8(c));
#elif defined(__AVX2__)
  const __m256i wanted = _mm256_set1_epi8(c);
  const auto half = [&](int i) {
    const __m256i bytes =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 32 * static_cast<size_t>(i)));
    return static_cast<uint64_t>(
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, wanted))));
  };
  return half(0) | half(1) << 32;
#elif defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(c);
  const auto quarter = [&](int i) {
    const __m128i bytes =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * static_cast<size_t>(i)));
    return static_cast<uint64_t>(
               static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted))))
           << (16 * i);
  };
  return quarter(0) | quarter(1) | quarter(2) | quarter(3);
#else
  uint64_t bits = 0;
  for (int i = 0; i < 64; ++i) bits |= static_cast<uint64_t>(text[i] == c) << i;
  return bits;
#endif
}

// Bit i of the result: whether an odd number of the bits 0..i is set.
inline uint64_t PrefixXor(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

size_t FindSeparators(const char* text, size_t n, uint32_t position, char separator, char quote,
                      bool* in_quotes, bool* quotes, uint32_t* ends) {
  uint64_t carried = *in_quotes ? ~uint64_t{0} : 0;
  uint64_t any_quotes = 0;
  size_t count = 0;
  for (size_t at = 0; at < n; at += 64) {
    const char* block = text + at;
    const uint64_t inside = n - at >= 64 ? ~uint64_t{0} : (uint64_t{1} << (n - at)) - 1;
    uint64_t found = (EqualBits(block, separator) | EqualBits(block, '\n')) & inside;
    if (quote != 0) {
      const uint64_t marks = EqualBits(block, quote) & inside;
      if ((marks | carried) != 0) {
        any_quotes |= marks;
        const uint64_t quoted = PrefixXor(marks) ^ carried;
        found &= ~quoted;
        carried = (quoted >> 63) != 0 ? ~uint64_t{0} : 0;
      }
    }
    const auto start = static_cast<uint32_t>(position + at);
    while (found != 0) {
      ends[count++] = start + static_cast<uint32_t>(__builtin_ctzll(found));
      found &= found - 1;
    }
  }
  *in_quotes = carried != 0;
  if (any_quotes != 0) *quotes = true;
  return count;
}

}  // namespace catamaran::CATAMARAN_ISA

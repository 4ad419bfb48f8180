// table/memory/index_match_simd.h
//
// IndexLine::Match with the widest vectors of the instruction set that a file is compiled for: the
// entries of a line in one compare, or two.
//
// Thread safety: as IndexLine says of readers.

#pragma once

#include "catamaran/table/memory/index_line.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace catamaran::CATAMARAN_ISA {

inline __attribute__((always_inline)) EntryMask MatchLine(const IndexLine* line, uint64_t hash) {
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS || !defined(__AVX2__)
  return line->Match(hash);
#else
  const int bits = IndexLine::HandleBits(line->State());
  const uint32_t tag = IndexLine::TagOf(hash, bits);
  const __m128i by = _mm_cvtsi32_si128(bits);
  asm volatile("" ::: "memory");
#if defined(__AVX512F__)
  const __m512i all = _mm512_load_si512(line->entries);
  const EntryMask match = _mm512_mask_cmpeq_epi32_mask(
      IndexLine::kAllEntries, _mm512_maskz_srl_epi32(IndexLine::kAllEntries, all, by),
      _mm512_set1_epi32(static_cast<int>(tag)));
#else
  const __m256i wanted = _mm256_set1_epi32(static_cast<int>(tag));
  const auto* const from = reinterpret_cast<const __m256i*>(line->entries);
  const __m256i low = _mm256_cmpeq_epi32(_mm256_srl_epi32(_mm256_load_si256(from), by), wanted);
  const __m256i high =
      _mm256_cmpeq_epi32(_mm256_srl_epi32(_mm256_load_si256(from + 1), by), wanted);
  const auto low_mask = static_cast<EntryMask>(_mm256_movemask_ps(_mm256_castsi256_ps(low)));
  const auto high_mask = static_cast<EntryMask>(_mm256_movemask_ps(_mm256_castsi256_ps(high)));
  const EntryMask match = (low_mask | high_mask << 8) & IndexLine::kAllEntries;
#endif
  asm volatile("" ::: "memory");
  return match;
#endif
}

}  // namespace catamaran::CATAMARAN_ISA

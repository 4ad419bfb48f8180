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

// The entries of a line that have the tag of a hash. Handles nearly always have as few bits as they
// can: the processor guesses that, and does not wait for the word of the line that says so.
inline __attribute__((always_inline)) LineMatch MatchLine(const IndexLine* line, uint64_t hash) {
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS || !defined(__AVX2__)
  return line->Match(hash);
#else
  constexpr int kBits = IndexLine::kMinHandleBits;
  if (IndexLine::HandleBits(line->State()) != kBits) [[unlikely]]
    return line->Match(hash);
  const int tag = static_cast<int>(IndexLine::TagOf(hash, kBits));
  asm volatile("" ::: "memory");
#if defined(__AVX512F__)
  const __m512i all = _mm512_load_si512(line->entries);
  const __m512i tags = _mm512_maskz_srli_epi32(IndexLine::kAllEntries, all, kBits);
  const EntryMask match =
      _mm512_mask_cmpeq_epi32_mask(IndexLine::kAllEntries, tags, _mm512_set1_epi32(tag));
#else
  const __m256i wanted = _mm256_set1_epi32(tag);
  const auto* const from = reinterpret_cast<const __m256i*>(line->entries);
  const auto half = [&](int i) {
    const __m256i equal =
        _mm256_cmpeq_epi32(_mm256_srli_epi32(_mm256_load_si256(from + i), kBits), wanted);
    return static_cast<EntryMask>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
  };
  const EntryMask match = (half(0) | half(1) << 8) & IndexLine::kAllEntries;
#endif
  asm volatile("" ::: "memory");
  return {match, IndexLine::HandleMask(kBits)};
#endif
}

}  // namespace catamaran::CATAMARAN_ISA

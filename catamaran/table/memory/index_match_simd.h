// table/memory/index_match_simd.h
//
// The first entry of a line that has the tag of a hash, with the widest vectors of the instruction
// set that a file is compiled for. Nearly all handles of a table have equally many bits, mostly as
// few as they can: the processor guesses that, and does not wait for the word of the line that says
// so.
//
// Thread safety: as IndexLine says of readers.

#pragma once

#include "catamaran/table/memory/index_line.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace catamaran::CATAMARAN_ISA {

// The tag of a hash where it lies in an entry, if handles have as few bits as they can.
inline __attribute__((always_inline)) uint32_t WantedTag(uint64_t hash) {
  constexpr int kBits = IndexLine::kMinHandleBits;
  return IndexLine::TagOf(hash, kBits) << kBits;
}

#if !CATAMARAN_ROW_WORDS_ARE_ATOMICS && defined(__AVX2__)
// FirstHandleOf where handles have so many bits; `wanted` is the tag where it lies in an entry
// then.
inline __attribute__((always_inline)) RowHandle FirstHandleWith(const IndexLine* line,
                                                                uint32_t wanted, int bits) {
  asm volatile("" ::: "memory");
#if defined(__AVX512F__)
  // Where tags agree only the handle is left.
  const __m512i apart = _mm512_xor_si512(_mm512_load_si512(line->entries),
                                         _mm512_set1_epi32(static_cast<int>(wanted)));
  const __mmask16 match = _mm512_mask_cmplt_epu32_mask(
      IndexLine::kAllEntries, apart, _mm512_set1_epi32(static_cast<int>(1u << bits)));
  const __m512i first =
      _mm512_mask_compress_epi32(_mm512_set1_epi32(static_cast<int>(kNoRow.bits())), match, apart);
  asm volatile("" ::: "memory");
  using Words [[gnu::vector_size(64)]] = uint32_t;
  return RowHandle::FromBits(reinterpret_cast<Words>(first)[0]);
#else
  const __m128i by = _mm_cvtsi32_si128(bits);
  const __m256i tag = _mm256_set1_epi32(static_cast<int>(wanted >> bits));
  const auto* const from = reinterpret_cast<const __m256i*>(line->entries);
  const auto half = [&](int i) {
    const __m256i equal =
        _mm256_cmpeq_epi32(_mm256_srl_epi32(_mm256_load_si256(from + i), by), tag);
    return static_cast<EntryMask>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
  };
  const EntryMask match = (half(0) | half(1) << 8) & IndexLine::kAllEntries;
  asm volatile("" ::: "memory");
  if (match == 0) return kNoRow;
  return line->FirstHandle({match, IndexLine::HandleMask(bits)});
#endif
}
#endif

// The handle of the first entry with the tag of a hash, which may be any row's of that tag; kNoRow
// if there is none. `wanted` is WantedTag(hash): who looks at many lines has it ready.
inline __attribute__((always_inline)) RowHandle FirstHandleOf(const IndexLine* line, uint64_t hash,
                                                              [[maybe_unused]] uint32_t wanted) {
#if !CATAMARAN_ROW_WORDS_ARE_ATOMICS && defined(__AVX2__)
  const int bits = IndexLine::HandleBits(line->State());
  if (bits == IndexLine::kMinHandleBits) [[likely]] {
    return FirstHandleWith(line, wanted, IndexLine::kMinHandleBits);
  }
  return FirstHandleWith(line, IndexLine::TagOf(hash, bits) << bits, bits);
#else
  const LineMatch match = line->Match(hash);
  return match.entries == 0 ? kNoRow : line->FirstHandle(match);
#endif
}

}  // namespace catamaran::CATAMARAN_ISA

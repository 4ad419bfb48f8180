// table/memory/pull_stages_simd.h
//
// The stages that the keys of a look-up go through (stages.h), for rows of the full width:
//
//   AskForLines     the home line of each key is asked for
//   AskForRows      the first entry with the key's tag says which row that is, if any
//   Copy            the row is compared with the key and copied; or the key is late
//   Search          now and then: keys that are late look further (row_search.h)
//
// Thread safety: as PullRowsFn says (pull_rows_simd.h).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "catamaran/table/memory/index_match_simd.h"
#include "catamaran/table/memory/pull_rows_simd.h"
#include "catamaran/table/memory/row_search.h"
#include "catamaran/table/memory/stages.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// How embeddings are kept: as f32, as many as this says, or as many as the pull says; or encoded.
constexpr int kCommonWidth = 16;
constexpr int kFloats = 0;
constexpr int kEncoded = -1;

constexpr int kLine = 16;              // words
constexpr int kMostWords = 8 * kLine;  // asked for; then the processor sees the pattern itself

// What the stages leave for each other, of the keys of one group.
struct Flights {
  uint64_t hashes[kStageGroup];
  uint32_t tags[kStageGroup];
  const ShardDoor* doors[kStageGroup];
  const IndexLine* lines[kStageGroup];
  const uint32_t* rows[kStageGroup];
};

inline __attribute__((always_inline)) void AskForLine(const PullContext& pull, Flights& flights,
                                                      size_t i) {
  const ShardDoor* const door = pull.finder.DoorOf(flights.hashes[i]);
  const IndexLine* const line = pull.finder.HomeLine(door, flights.hashes[i]);
  PrefetchLineOf(line);
  flights.doors[i] = door;
  flights.lines[i] = line;
}

// By themselves, so that several are made at once where the instruction set has a way.
inline __attribute__((always_inline)) void MakeHashes(const PullContext& pull, const uint64_t* keys,
                                                      size_t n, Flights& flights) {
  const uint64_t seed = pull.mixed_seed;
  for (size_t i = 0; i < n; ++i) {
    flights.hashes[i] = Mix64(keys[i] ^ seed);
    flights.tags[i] = WantedTag(flights.hashes[i]);
  }
}

CATAMARAN_STAGE void AskForLines(const PullContext& pull, const uint64_t* keys, size_t n,
                                 Flights& flights) {
  const PullContext here = pull;  // which compiler barriers do not make it load again
  MakeHashes(here, keys, n, flights);
  for (size_t i = 0; i < n; ++i) AskForLine(here, flights, i);
}

// As many requests wherever in a line the row begins, so that the processor never guesses it
// wrong; a line that is asked for twice costs nothing.
template <int kForm>
inline __attribute__((always_inline)) void AskForRow(const PullContext& pull, const uint32_t* row) {
  PrefetchLineOf(row + row_words::kTag);
  if constexpr (kForm == kCommonWidth) {
    PrefetchLineOf(row + row_words::kTag + kLine);
    PrefetchLineOf(row + pull.embedding + kForm - 1);
  } else {
    const ptrdiff_t last = std::min(pull.embedding + pull.embedding_words - 1, kMostWords);
    for (ptrdiff_t w = row_words::kTag + kLine; w < last; w += kLine) PrefetchLineOf(row + w);
    PrefetchLineOf(row + last);
  }
}

template <int kForm>
CATAMARAN_STAGE void AskForRows(const PullContext& pull, size_t n, Flights& flights) {
  const PullContext here = pull;
  for (size_t i = 0; i < n; ++i) {
    const IndexLine* const line = flights.lines[i];
    const RowHandle handle = FirstHandleOf(line, flights.hashes[i], flights.tags[i]);
    flights.rows[i] = here.finder.SightOf(flights.doors[i], handle).row;
  }
  // By themselves: the fewer instructions between them, the more of those wait together that wait.
  for (size_t i = 0; i < n; ++i) AskForRow<kForm>(here, flights.rows[i]);
}

// What a key has got, for another.
template <int kForm>
inline __attribute__((always_inline)) void CopyFloats(const float* from, float* to, int width) {
  if constexpr (kForm == kCommonWidth) {
    __builtin_memcpy(to, from, kCommonWidth * sizeof(float));
  } else {
    for (int i = 0; i < width; ++i) to[i] = from[i];
  }
}

// As LoadWords of row_access.h, with the widest vectors of the instruction set.
template <int kWidth>
inline __attribute__((always_inline)) void CopyWords(const uint32_t* from, float* to, int width) {
#if CATAMARAN_ROW_WORDS_ARE_ATOMICS
  for (int i = 0; i < width; ++i) {
    const uint32_t word = LoadWord(from + i);
    __builtin_memcpy(to + i, &word, sizeof(word));
  }
#else
  asm volatile("" ::: "memory");
  int i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= width; i += 16) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
#endif
  for (; i + 4 <= width; i += 4) __builtin_memcpy(to + i, from + i, 4 * sizeof(float));
  for (; i < width; ++i) __builtin_memcpy(to + i, from + i, sizeof(float));
  asm volatile("" ::: "memory");
#endif
}

// Copies the embedding of a row; whether it is whole, and the row of `key`. If not, `out` holds
// anything.
template <int kForm>
inline __attribute__((always_inline)) bool CopyRow(const PullContext& pull, const uint32_t* row,
                                                   uint64_t key, float* out) {
  const uint32_t tag = LoadWordAcquire(row + row_words::kTag);
  if (LoadRowKey(row) != key || !TagIsReadable(tag)) [[unlikely]]
    return false;
  if constexpr (kForm == kEncoded) {
    uint32_t words[kMaxTableWidth];
    LoadWords(row + pull.embedding, words, pull.embedding_words);
    if (!RowIsUnchanged(row, tag)) return false;
    pull.decode(words, pull.width, out);
    return true;
  } else {
    CopyWords<kForm>(row + pull.embedding, out, kForm > 0 ? kForm : pull.width);
    return RowIsUnchanged(row, tag);
  }
}

// Where the keys of a pull go that are not found at first sight, and at last.
struct Late {
  RowSearches searches;
  uint16_t* lost;
};

// Key `place` of the pull, whose row was asked for.
template <int kForm>
inline __attribute__((always_inline)) void CopyOne(const PullContext& pull, const uint32_t* row,
                                                   uint64_t key, float* out, size_t place,
                                                   Late& late) {
  if (CopyRow<kForm>(pull, row, key, out)) [[likely]]
    return;
  const auto number = static_cast<uint16_t>(place);
  if (!late.searches.Add(Mix64(key ^ pull.mixed_seed), number)) *late.lost++ = number;
}

// `keys` are key `first` of the pull and the next ones.
template <int kForm>
CATAMARAN_STAGE void Copy(const PullContext& pull, const uint64_t* keys, size_t n,
                          const Flights& flights, float* out, size_t first, Late& late) {
  const PullContext here = pull;
  const ptrdiff_t width = kForm > 0 ? kForm : here.width;
  for (size_t i = 0; i < n; ++i, out += width) {
    CopyOne<kForm>(here, flights.rows[i], keys[i], out, first + i, late);
  }
}

// AskForLines of a group and Copy of one before it, whose rows are in the same flights.
template <int kForm>
CATAMARAN_STAGE void AskAndCopy(const PullContext& pull, const uint64_t* keys_to_ask,
                                const uint64_t* keys, Flights& flights, float* out, size_t first,
                                Late& late) {
  const PullContext here = pull;
  const ptrdiff_t width = kForm > 0 ? kForm : here.width;
  MakeHashes(here, keys_to_ask, kStageGroup, flights);
  for (size_t i = 0; i < kStageGroup; ++i, out += width) {
    AskForLine(here, flights, i);
    CopyOne<kForm>(here, flights.rows[i], keys[i], out, first + i, late);
  }
}

template <int kForm>
CATAMARAN_STAGE void Search(const PullContext& pull, const uint64_t* keys, float* out, Late& late) {
  late.searches.Step(
      pull.finder, [&](const uint32_t* row) { AskForRow<kForm>(pull, row); },
      [&](const uint32_t* row, RowHandle, uint32_t place) {
        return CopyRow<kForm>(pull, row, keys[place], out + ptrdiff_t{place} * pull.width);
      },
      [&](uint32_t place) { *late.lost++ = static_cast<uint16_t>(place); });
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

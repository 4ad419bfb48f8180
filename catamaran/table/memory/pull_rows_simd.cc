#include "catamaran/table/memory/pull_rows_simd.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "catamaran/table/memory/index_match_simd.h"
#include "catamaran/table/memory/stages.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int kCommonWidth = 16;
constexpr int kLine = 16;              // words
constexpr int kMostWords = 8 * kLine;  // asked for; then the processor sees the pattern itself

// What the stages leave for each other, of the keys of one group.
struct Flights {
  uint64_t hashes[kStageGroup];
  const ShardDoor* doors[kStageGroup];
  const IndexLine* lines[kStageGroup];
  const uint32_t* rows[kStageGroup];
};

// The stages are functions of their own, so that each has all registers for what its loop needs.
#define CATAMARAN_STAGE __attribute__((noinline))

CATAMARAN_STAGE void AskForLines(const PullContext& pull, const uint64_t* keys, size_t n,
                                 Flights& flights) {
  const RowFinder finder = pull.finder;
  const uint64_t seed = pull.mixed_seed;
  // By itself, so that several are made at once where the instruction set has a way.
  for (size_t i = 0; i < n; ++i) flights.hashes[i] = Mix64(keys[i] ^ seed);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t hash = flights.hashes[i];
    const ShardDoor* const door = finder.DoorOf(hash);
    const IndexLine* const line = finder.HomeLine(door, hash);
    PrefetchLineOf(line);
    flights.doors[i] = door;
    flights.lines[i] = line;
  }
}

template <int kWidth>
CATAMARAN_STAGE void AskForRows(const PullContext& pull, size_t n, Flights& flights) {
  const RowFinder finder = pull.finder;
  const ptrdiff_t last_word = pull.embedding + (kWidth > 0 ? kWidth : pull.width) - 1;
  [[maybe_unused]] const ptrdiff_t asked_words = last_word < kMostWords ? last_word : kMostWords;
  for (size_t i = 0; i < n; ++i) {
    const IndexLine* const line = flights.lines[i];
    const LineMatch match = MatchLine(line, flights.hashes[i]);
    const uint32_t* const row = finder.FirstOf(flights.doors[i], line, match).row;
    // As many requests wherever in a line the row begins, so that the processor never guesses it
    // wrong; a line that is asked for twice costs nothing.
    PrefetchLineOf(row + row_words::kTag);
    if constexpr (kWidth == kLine) {
      PrefetchLineOf(row + row_words::kTag + kLine);
      PrefetchLineOf(row + last_word);
    } else {
      for (ptrdiff_t w = row_words::kTag + kLine; w < asked_words; w += kLine) {
        PrefetchLineOf(row + w);
      }
      PrefetchLineOf(row + asked_words);
    }
    flights.rows[i] = row;
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

// Returns where the next late key goes. `first` is the number of the first key.
template <int kWidth>
CATAMARAN_STAGE uint16_t* Copy(const PullContext& pull, const uint64_t* keys, size_t n,
                               const Flights& flights, float* out, size_t first, uint16_t* late) {
  const ptrdiff_t embedding = pull.embedding;
  const int width = kWidth > 0 ? kWidth : pull.width;
  for (size_t i = 0; i < n; ++i, out += width) {
    const uint32_t* const row = flights.rows[i];
    const uint32_t tag = LoadWordAcquire(row + row_words::kTag);
    if (LoadRowKey(row) == keys[i] && TagIsReadable(tag)) [[likely]] {
      CopyWords<kWidth>(row + embedding, out, width);
      if (RowIsUnchanged(row, tag)) [[likely]]
        continue;
    }
    *late++ = static_cast<uint16_t>(first + i);
  }
  return late;
}

// kWidth 0: as wide as the pull says.
template <int kWidth>
size_t Pull(const PullContext& pull, const uint64_t* keys, size_t n, float* out, uint16_t* late) {
  Flights flights[2];
  const uint16_t* const first_late = late;
  InGroups(
      n,
      [&](size_t first, size_t count, size_t group) {
        AskForLines(pull, keys + first, count, flights[group % 2]);
      },
      [&](size_t, size_t count, size_t group) {
        AskForRows<kWidth>(pull, count, flights[group % 2]);
      },
      [&](size_t first, size_t count, size_t group) {
        late = Copy<kWidth>(pull, keys + first, count, flights[group % 2],
                            out + first * static_cast<size_t>(pull.width), first, late);
      });
  return static_cast<size_t>(late - first_late);
}

size_t PullAny(const PullContext& pull, const uint64_t* keys, size_t n, float* out,
               uint16_t* late) {
  return pull.width == kCommonWidth ? Pull<kCommonWidth>(pull, keys, n, out, late)
                                    : Pull<0>(pull, keys, n, out, late);
}

}  // namespace

PullRowsFn GetPullRows() { return PullAny; }

}  // namespace catamaran::CATAMARAN_ISA

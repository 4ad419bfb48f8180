#include "catamaran/table/memory/rowwise_push_simd.h"

#include <algorithm>

#include "catamaran/table/memory/index_match_simd.h"
#include "catamaran/table/memory/stages.h"
#include "catamaran/table/rowwise_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kCommonColumns = 16;
constexpr ptrdiff_t kMostWords = 128;  // asked for; then the processor sees the pattern itself

// What the stages leave for each other, of the keys of one group.
struct Flights {
  const ShardDoor* doors[kStageGroup];
  const IndexLine* lines[kStageGroup];
  uint32_t* rows[kStageGroup];
  RowHandle handles[kStageGroup];
};

// The stages are functions of their own, so that each has all registers for what its loop needs.
// What they need is in local variables, which compiler barriers do not make them load again.
#define CATAMARAN_STAGE __attribute__((noinline))

CATAMARAN_STAGE void AskForLines(const RowwisePush& push, const StepKey* keys, size_t n,
                                 Flights& flights) {
  const RowFinder finder = push.finder;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t hash = keys[i].hash;
    const ShardDoor* const door = finder.DoorOf(hash);
    const IndexLine* const line = finder.HomeLine(door, hash);
    PrefetchLineOf(line);
    flights.doors[i] = door;
    flights.lines[i] = line;
  }
}

template <int64_t kColumns, bool kFollowing>
CATAMARAN_STAGE void AskForRows(const RowwisePush& push, const StepKey* keys, size_t n,
                                Flights& flights) {
  const RowFinder finder = push.finder;
  const ptrdiff_t last_word = push.row_words - 1;
  [[maybe_unused]] const ptrdiff_t asked_words = std::min(last_word, kMostWords);
  for (size_t i = 0; i < n; ++i) {
    const IndexLine* const line = flights.lines[i];
    const LineMatch match = MatchLine(line, keys[i].hash);
    const auto [row, handle] = finder.FirstOfByJumps(flights.doors[i], line, match);
    // As many requests wherever in a line the row begins, so that the processor never guesses it
    // wrong; a line that is asked for twice costs nothing. Shows and clicks are not touched.
    constexpr ptrdiff_t kFirst = row_words::kLastSeen;
    PrefetchLineOf(row + kFirst);
    if constexpr (kColumns == kCommonColumns) {
      PrefetchLineOf(row + kFirst + 16);
    } else {
      for (ptrdiff_t w = kFirst + 16; w < asked_words; w += 16) PrefetchLineOf(row + w);
    }
    PrefetchLineOf(row + last_word);
    flights.rows[i] = row;
    if constexpr (kFollowing) {
      flights.handles[i] = handle;
      push.changes[finder.ShardOf(keys[i].hash)]->PrefetchSlot(handle);
    }
  }
}

// Returns where the next late key goes. `first` is the number of the first key.
template <int64_t kColumns, bool kFollowing>
CATAMARAN_STAGE uint32_t* Write(const RowwisePush& push, const StepKey* keys, size_t n,
                                const Flights& flights, size_t first, uint32_t* late) {
  const uint32_t* const nothing = push.finder.nothing();
  const int64_t columns = kColumns > 0 ? kColumns : push.step.columns;
  const float rate = push.step.rate, epsilon = push.step.epsilon;
  const ptrdiff_t embedding = push.embedding;
  const uint32_t last_seen = push.last_seen;
  for (size_t i = 0; i < n; ++i) {
    const StepKey& key = keys[i];
    uint32_t* const row = flights.rows[i];
    if (RecordKey(row) != key.key || row == nothing) [[unlikely]] {
      *late++ = static_cast<uint32_t>(first + i);
      continue;
    }
    if constexpr (kFollowing) {
      push.changes[push.finder.ShardOf(key.hash)]->BeforeSlotChange(flights.handles[i]);
    }
    auto* const numbers = reinterpret_cast<float*>(row + embedding);
    const uint32_t tag = BeginRowWrite(row);
    const uint32_t seen = row[row_words::kLastSeen];
    row[row_words::kLastSeen] = seen < last_seen ? last_seen : seen;
    MoveRowwise(rate, epsilon, numbers, numbers + columns,
                ScaledGradient{key.gradient, key.factor, key.scale}, columns);
    EndRowWrite(row, tag);
  }
  return late;
}

// kColumns 0: as many as the push says.
template <int64_t kColumns, bool kFollowing>
size_t PushRows(const RowwisePush& push, const StepKey* keys, size_t n, uint32_t* late) {
  Flights flights[2];
  const uint32_t* const first_late = late;
  InGroups(
      n,
      [&](size_t first, size_t count, size_t group) {
        AskForLines(push, keys + first, count, flights[group % 2]);
      },
      [&](size_t first, size_t count, size_t group) {
        AskForRows<kColumns, kFollowing>(push, keys + first, count, flights[group % 2]);
      },
      [&](size_t first, size_t count, size_t group) {
        late =
            Write<kColumns, kFollowing>(push, keys + first, count, flights[group % 2], first, late);
      });
  return static_cast<size_t>(late - first_late);
}

template <int64_t kColumns>
size_t PushRows(const RowwisePush& push, const StepKey* keys, size_t n, uint32_t* late) {
  return push.changes == nullptr ? PushRows<kColumns, false>(push, keys, n, late)
                                 : PushRows<kColumns, true>(push, keys, n, late);
}

size_t PushAnyRows(const RowwisePush& push, const StepKey* keys, size_t n, uint32_t* late) {
  return push.step.columns == kCommonColumns ? PushRows<kCommonColumns>(push, keys, n, late)
                                             : PushRows<0>(push, keys, n, late);
}

}  // namespace

RowwisePushFn GetRowwisePush() { return PushAnyRows; }

}  // namespace catamaran::CATAMARAN_ISA

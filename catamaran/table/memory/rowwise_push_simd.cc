#include "catamaran/table/memory/rowwise_push_simd.h"

#include <algorithm>

#include "catamaran/table/memory/stages.h"
#include "catamaran/table/rowwise_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kCommonColumns = 16;
constexpr ptrdiff_t kMostWords = 128;  // asked for; then the processor sees the pattern itself

// kColumns 0: as many as the push says. What the loop needs is in local variables, which compiler
// barriers do not make it load again.
template <int64_t kColumns, bool kFollowing>
size_t PushRows(const RowwisePush& push, const StepKey* keys, size_t n, uint32_t* late) {
  struct Flight {
    const ShardDoor* door;
    const IndexLine* line;
  };
  struct Found {
    uint32_t* row;
    RowHandle handle;
  };
  Flight flights[kStageFlights];
  Found found[kStageFlights];
  const RowFinder finder = push.finder;
  const uint32_t* const nothing = finder.nothing();
  const int64_t columns = kColumns > 0 ? kColumns : push.step.columns;
  const float rate = push.step.rate, epsilon = push.step.epsilon;
  const ptrdiff_t embedding = push.embedding, last_word = push.row_words - 1;
  [[maybe_unused]] const ptrdiff_t asked_words = std::min(last_word, kMostWords);
  const uint32_t last_seen = push.last_seen;
  const uint32_t* const first_late = late;

  const auto ask_for_line = [&](size_t i) __attribute__((always_inline)) {
    const uint64_t hash = keys[i].hash;
    const ShardDoor* const door = finder.DoorOf(hash);
    const IndexLine* const line = finder.HomeLine(door, hash);
    flights[i % kStageFlights] = {door, line};
    PrefetchLineOf(line);
  };
  const auto ask_for_row = [&](size_t i) __attribute__((always_inline)) {
    const auto [door, line] = flights[i % kStageFlights];
    const auto [row, handle] = finder.FirstSightByJumps(door, line, keys[i].hash);
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
    found[i % kStageFlights].row = row;
    if constexpr (kFollowing) {
      found[i % kStageFlights].handle = handle;
      push.changes[finder.ShardOf(keys[i].hash)]->PrefetchSlot(handle);
    }
  };
  const auto write = [&](size_t i) __attribute__((always_inline)) {
    const StepKey& key = keys[i];
    uint32_t* const row = found[i % kStageFlights].row;
    if (RecordKey(row) != key.key || row == nothing) [[unlikely]] {
      *late++ = static_cast<uint32_t>(i);
      return;
    }
    if constexpr (kFollowing) {
      push.changes[finder.ShardOf(key.hash)]->BeforeSlotChange(found[i % kStageFlights].handle);
    }
    auto* const numbers = reinterpret_cast<float*>(row + embedding);
    const uint32_t tag = BeginRowWrite(row);
    const uint32_t seen = row[row_words::kLastSeen];
    row[row_words::kLastSeen] = seen < last_seen ? last_seen : seen;
    MoveRowwise(rate, epsilon, numbers, numbers + columns,
                ScaledGradient{key.gradient, key.factor, key.scale}, columns);
    EndRowWrite(row, tag);
  };

  InStages(n, ask_for_line, ask_for_row, write);
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

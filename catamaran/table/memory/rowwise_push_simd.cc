#include "catamaran/table/memory/rowwise_push_simd.h"

#include <algorithm>

#include "catamaran/table/memory/index_match_simd.h"
#include "catamaran/table/memory/row_search.h"
#include "catamaran/table/memory/stages.h"
#include "catamaran/table/rowwise_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kCommonColumns = 16;
constexpr ptrdiff_t kMostWords = 128;  // asked for; then the processor sees the pattern itself

// What the stages leave for each other, of the keys of one group.
struct Flights {
  uint32_t tags[kStageGroup];
  const ShardDoor* doors[kStageGroup];
  const IndexLine* lines[kStageGroup];
  uint32_t* rows[kStageGroup];
  RowHandle handles[kStageGroup];
};

// What stages need is in local variables, which compiler barriers do not make them load again.

CATAMARAN_STAGE void AskForLines(const RowwisePush& push, const StepKey* keys, size_t n,
                                 Flights& flights) {
  const RowFinder finder = push.finder;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t hash = keys[i].hash;
    const ShardDoor* const door = finder.DoorOf(hash);
    const IndexLine* const line = finder.HomeLine(door, hash);
    PrefetchLineOf(line);
    flights.tags[i] = WantedTag(hash);
    flights.doors[i] = door;
    flights.lines[i] = line;
  }
}

// As many requests wherever in a line the row begins, so that the processor never guesses it wrong;
// a line that is asked for twice costs nothing. Shows and clicks are not touched.
template <int64_t kColumns>
inline __attribute__((always_inline)) void AskForRow(const RowwisePush& push, const uint32_t* row) {
  constexpr ptrdiff_t kFirst = row_words::kLastSeen;
  const ptrdiff_t last = push.row_words - 1;
  PrefetchLineOf(row + kFirst);
  if constexpr (kColumns == kCommonColumns) {
    PrefetchLineOf(row + kFirst + 16);
  } else {
    const ptrdiff_t asked = std::min(last, kMostWords);
    for (ptrdiff_t w = kFirst + 16; w < asked; w += 16) PrefetchLineOf(row + w);
  }
  PrefetchLineOf(row + last);
}

template <int64_t kColumns, bool kFollowing>
CATAMARAN_STAGE void AskForRows(const RowwisePush& push, const StepKey* keys, size_t n,
                                Flights& flights) {
  const RowwisePush here = push;
  for (size_t i = 0; i < n; ++i) {
    const IndexLine* const line = flights.lines[i];
    const RowHandle first = FirstHandleOf(line, keys[i].hash, flights.tags[i]);
    const auto [row, handle] = here.finder.SightOf(flights.doors[i], first);
    flights.rows[i] = row;
    if constexpr (kFollowing) {
      flights.handles[i] = handle;
      here.changes[here.finder.ShardOf(keys[i].hash)]->PrefetchSlot(handle);
    }
  }
  // By themselves: the fewer instructions between them, the more of those wait together that wait.
  for (size_t i = 0; i < n; ++i) {
    AskForRow<kColumns>(here, flights.rows[i]);
    PrefetchLineOf(keys[i].gradient);
  }
}

// Whether the row is the key's; then it is written.
template <int64_t kColumns, bool kFollowing>
inline __attribute__((always_inline)) bool WriteRow(const RowwisePush& push, const StepKey& key,
                                                    uint32_t* row, RowHandle handle) {
  if (RecordKey(row) != key.key || row == push.finder.nothing()) [[unlikely]]
    return false;
  if constexpr (kFollowing) {
    push.changes[push.finder.ShardOf(key.hash)]->BeforeSlotChange(handle);
  }
  const int64_t columns = kColumns > 0 ? kColumns : push.step.columns;
  auto* const numbers = reinterpret_cast<float*>(row + push.embedding);
  const uint32_t tag = BeginRowWrite(row);
  const uint32_t seen = row[row_words::kLastSeen];
  row[row_words::kLastSeen] = seen < push.last_seen ? push.last_seen : seen;
  const bool kept = MoveRowwise(push.step.rate, push.step.epsilon, numbers, numbers + columns,
                                ScaledGradient{key.gradient, key.factor, key.scale}, columns);
  EndRowWrite(row, tag);
  if (kept) [[unlikely]]
    ++*push.unwritten;
  return true;
}

// Where the keys of a push go that are not found at first sight, and at last.
struct Late {
  RowSearches searches;
  uint32_t* lost;
};

// `keys` are key `first` of the push and the next ones.
template <int64_t kColumns, bool kFollowing>
CATAMARAN_STAGE void Write(const RowwisePush& push, const StepKey* keys, size_t n,
                           const Flights& flights, size_t first, Late& late) {
  const RowwisePush here = push;
  for (size_t i = 0; i < n; ++i) {
    if (WriteRow<kColumns, kFollowing>(here, keys[i], flights.rows[i],
                                       kFollowing ? flights.handles[i] : RowHandle())) [[likely]]
      continue;
    const auto place = static_cast<uint32_t>(first + i);
    if (!late.searches.Add(keys[i].hash, place)) *late.lost++ = place;
  }
}

template <int64_t kColumns, bool kFollowing>
CATAMARAN_STAGE void Search(const RowwisePush& push, const StepKey* keys, Late& late) {
  late.searches.Step(
      push.finder, [&](const uint32_t* row) { AskForRow<kColumns>(push, row); },
      [&](uint32_t* row, RowHandle handle, uint32_t place) {
        return WriteRow<kColumns, kFollowing>(push, keys[place], row, handle);
      },
      [&](uint32_t place) { *late.lost++ = place; });
}

// kColumns 0: as many as the push says.
template <int64_t kColumns, bool kFollowing>
size_t PushRows(const RowwisePush& push, const StepKey* keys, size_t n, uint32_t* lost) {
  Flights flights[2];
  Late late;
  late.lost = lost;
  InGroups(
      n,
      [&](size_t first, size_t count, size_t group) {
        AskForLines(push, keys + first, count, flights[group % 2]);
      },
      [&](size_t first, size_t count, size_t group) {
        AskForRows<kColumns, kFollowing>(push, keys + first, count, flights[group % 2]);
      },
      [&](size_t first, size_t count, size_t group) {
        if (group % kGroupsToSearch == 0) Search<kColumns, kFollowing>(push, keys, late);
        Write<kColumns, kFollowing>(push, keys + first, count, flights[group % 2], first, late);
      });
  while (!late.searches.empty()) Search<kColumns, kFollowing>(push, keys, late);
  return static_cast<size_t>(late.lost - lost);
}

template <int64_t kColumns>
size_t PushRows(const RowwisePush& push, const StepKey* keys, size_t n, uint32_t* lost) {
  return push.changes == nullptr ? PushRows<kColumns, false>(push, keys, n, lost)
                                 : PushRows<kColumns, true>(push, keys, n, lost);
}

size_t PushAnyRows(const RowwisePush& push, const StepKey* keys, size_t n, uint32_t* lost) {
  return push.step.columns == kCommonColumns ? PushRows<kCommonColumns>(push, keys, n, lost)
                                             : PushRows<0>(push, keys, n, lost);
}

}  // namespace

RowwisePushFn GetRowwisePush() { return PushAnyRows; }

}  // namespace catamaran::CATAMARAN_ISA

// table/memory/pull_repeats_simd.h
//
// A look-up of keys that repeat, as those of a power law do: of equal keys one goes through the
// stages (pull_stages_simd.h), and the others copy what it found. That is cheaper than a look-up of
// a row that is near, and the memory works on more keys at once that are not: without the repeats a
// group has several times as many of them.
//
// A key finds the newest of its equals by a slot, of which there are some thousands; equal keys go
// through the stages more than once where another key has taken the slot between them.
//
// Thread safety: as PullRowsFn says (pull_rows_simd.h).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "catamaran/table/memory/pull_stages_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// One of 2^bits slots.
inline __attribute__((always_inline)) size_t SlotOf(uint64_t key, int bits) {
  return key * 0x9e3779b97f4a7c15u >> (64 - bits);
}

// Whether a look-up of `keys` is quicker so, going by the first of them. Of keys by a power law
// with exponent 1.2 these have 43 repeats of a hundred, and of 2,000 keys 65 of a hundred, where
// it saves a fourth of the time; where it begins to pay is an estimate.
inline bool ManyRepeat(const uint64_t* keys, size_t n) {
  constexpr size_t kSample = 128, kEnough = kSample / 4;
  constexpr int kSlotBits = 9;
  if (n < 2 * kSample) return false;
  uint8_t newest[1 << kSlotBits] = {};
  size_t repeats = 0;
  for (size_t i = 1; i < kSample; ++i) {
    uint8_t& slot = newest[SlotOf(keys[i], kSlotBits)];
    repeats += keys[slot] == keys[i];
    slot = static_cast<uint8_t>(i);
  }
  return repeats >= kEnough;
}

// Keys of a look-up, by their places in it, that are to go through the stages and have not been
// asked for: fewer than a group, and a group more.
struct Pending {
  uint16_t places[2 * kStageGroup];
  size_t count;
};

// The others.
struct Repeats {
  static constexpr int kSlotBits = 12;
  uint16_t newest[1 << kSlotBits];  // in each slot: the place of a key; 0 at first
  // The place of a key, shifted by 16, and that of an equal key before it; in order. One word each,
  // which is one store.
  uint32_t pairs[kMostPullKeys];
  size_t count;
};

// Says of keys [first, first + n) which are repeats of earlier ones: all others are pending. There
// are no jumps in it, since the processor would guess wrong as often as not, and what a key waits
// for is not what the key before it found.
// REQUIRES: first > 0: the first key is nobody's repeat, and stands in slots that nobody took.
CATAMARAN_STAGE void FindRepeats(const uint64_t* keys, size_t first, size_t n, Repeats& repeats,
                                 Pending& pending) {
  size_t num_repeats = repeats.count, num_pending = pending.count;
  for (size_t i = 0; i < n; ++i) {
    const auto place = static_cast<uint16_t>(first + i);
    uint16_t& slot = repeats.newest[SlotOf(keys[first + i], Repeats::kSlotBits)];
    const uint16_t from = slot;
    const bool equal = keys[from] == keys[place];
    slot = place;
    repeats.pairs[num_repeats] = uint32_t{place} << 16 | from;
    num_repeats += equal;
    pending.places[num_pending] = place;
    num_pending += !equal;
  }
  repeats.count = num_repeats;
  pending.count = num_pending;
}

// A group of keys that do not follow one another.
struct ScatteredFlights : Flights {
  uint16_t places[kStageGroup];
  size_t count = 0;
};

// The first of those that are pending: a group of them, or all that there are.
CATAMARAN_STAGE void AskForPending(const PullContext& pull, const uint64_t* keys, Pending& pending,
                                   ScatteredFlights& flights) {
  const PullContext here = pull;
  const size_t n = std::min(pending.count, kStageGroup);
  __builtin_memcpy(flights.places, pending.places, sizeof(flights.places));
  __builtin_memcpy(pending.places, pending.places + kStageGroup, sizeof(flights.places));
  pending.count -= n;
  flights.count = n;
  uint64_t gathered[kStageGroup];
  for (size_t i = 0; i < n; ++i) gathered[i] = keys[flights.places[i]];
  MakeHashes(here, gathered, n, flights);
  for (size_t i = 0; i < n; ++i) AskForLine(here, flights, i);
}

template <int kForm>
CATAMARAN_STAGE void CopyScattered(const PullContext& pull, const uint64_t* keys,
                                   const ScatteredFlights& flights, float* out, Late& late) {
  const PullContext here = pull;
  const ptrdiff_t width = kForm > 0 ? kForm : here.width;
  for (size_t i = 0; i < flights.count; ++i) {
    const size_t place = flights.places[i];
    CopyOne<kForm>(here, flights.rows[i], keys[place], out + static_cast<ptrdiff_t>(place) * width,
                   place, late);
  }
}

// Copies what was found for other keys to their repeats; repeats of what was lost are lost too.
template <int kForm>
CATAMARAN_STAGE void CopyRepeats(const PullContext& pull, const Repeats& repeats, size_t n,
                                 float* out, const uint16_t* lost, Late& late) {
  // Repeats of repeats copy from the first of them: the last one is still on its way to the cache.
  constexpr uint16_t kLost = UINT16_MAX;
  static_assert(kMostPullKeys <= kLost);
  uint16_t origins[kMostPullKeys];
  for (size_t i = 0; i < n; ++i) origins[i] = static_cast<uint16_t>(i);
  for (const uint16_t* place = lost; place != late.lost; ++place) origins[*place] = kLost;
  const ptrdiff_t width = kForm > 0 ? kForm : pull.width;
  for (size_t i = 0; i < repeats.count; ++i) {
    const auto from = static_cast<uint16_t>(repeats.pairs[i]);
    const auto to = static_cast<uint16_t>(repeats.pairs[i] >> 16);
    const uint16_t origin = origins[from];
    origins[to] = origin;
    if (origin == kLost) [[unlikely]] {
      *late.lost++ = to;
    } else {
      CopyFloats<kForm>(out + origin * width, out + to * width, static_cast<int>(width));
    }
  }
}

// As PullRowsFn says.
template <int kForm>
size_t PullRepeats(const PullContext& pull, const uint64_t* keys, size_t n, float* out,
                   uint16_t* lost) {
  ScatteredFlights flights[3];
  Late late;
  late.lost = lost;
  Repeats repeats;
  __builtin_memset(repeats.newest, 0, sizeof(repeats.newest));
  repeats.count = 0;
  Pending pending;
  pending.places[0] = 0;
  pending.count = 1;
  size_t group = 0;
  // As InGroups does: each stage one group behind the stage before.
  const auto next_group = [&] {
    AskForPending(pull, keys, pending, flights[group % 3]);
    ScatteredFlights& asked = flights[(group + 2) % 3];
    AskForRows<kForm>(pull, asked.count, asked);
    if (group % kGroupsToSearch == 0) Search<kForm>(pull, keys, out, late);
    CopyScattered<kForm>(pull, keys, flights[(group + 1) % 3], out, late);
    ++group;
  };
  for (size_t first = 1; first < n; first += kStageGroup) {
    FindRepeats(keys, first, std::min(kStageGroup, n - first), repeats, pending);
    if (pending.count >= kStageGroup) next_group();
  }
  for (int stage = 0; stage < 3; ++stage) next_group();
  while (!late.searches.empty()) Search<kForm>(pull, keys, out, late);
  CopyRepeats<kForm>(pull, repeats, n, out, lost, late);
  return static_cast<size_t>(late.lost - lost);
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/table/memory/pull_rows_simd.h"

#include <algorithm>

#include "catamaran/table/memory/pull_repeats_simd.h"
#include "catamaran/table/memory/pull_stages_simd.h"
#include "catamaran/table/memory/stages.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// Each key goes through the stages.
template <int kForm>
size_t Pull(const PullContext& pull, const uint64_t* keys, size_t n, float* out, uint16_t* lost) {
  Flights flights[2];
  Late late;
  late.lost = lost;
  const auto out_of = [&](size_t key) { return out + key * static_cast<size_t>(pull.width); };
  const auto search = [&](size_t group) {
    if (group % kGroupsToSearch == 0) Search<kForm>(pull, keys, out, late);
  };
  InGroups(
      n,
      [&](size_t first, size_t count, size_t group) {
        AskForLines(pull, keys + first, count, flights[group % 2]);
      },
      [&](size_t, size_t count, size_t group) {
        AskForRows<kForm>(pull, count, flights[group % 2]);
      },
      [&](size_t first, size_t count, size_t group) {
        search(group);
        Copy<kForm>(pull, keys + first, count, flights[group % 2], out_of(first), first, late);
      },
      [&](size_t first_to_ask, size_t first, size_t group) {
        search(group);
        AskAndCopy<kForm>(pull, keys + first_to_ask, keys + first, flights[group % 2],
                          out_of(first), first, late);
      });
  while (!late.searches.empty()) Search<kForm>(pull, keys, out, late);
  return static_cast<size_t>(late.lost - lost);
}

template <int kForm>
size_t PullEither(const PullContext& pull, const uint64_t* keys, size_t n, float* out,
                  uint16_t* lost) {
  return ManyRepeat(keys, n) ? PullRepeats<kForm>(pull, keys, n, out, lost)
                             : Pull<kForm>(pull, keys, n, out, lost);
}

size_t PullAny(const PullContext& pull, const uint64_t* keys, size_t n, float* out,
               uint16_t* lost) {
  if (pull.decode != nullptr) return PullEither<kEncoded>(pull, keys, n, out, lost);
  return pull.width == kCommonWidth ? PullEither<kCommonWidth>(pull, keys, n, out, lost)
                                    : PullEither<kFloats>(pull, keys, n, out, lost);
}

}  // namespace

PullRowsFn GetPullRows() { return PullAny; }

}  // namespace catamaran::CATAMARAN_ISA

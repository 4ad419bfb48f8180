// ops/sorting/rank_simd.h
//
// Vector code that sorts few keys by counting: the place of a key is the number of keys that come
// before it. Plain data only.

#pragma once

#include <cstdint>

#include "catamaran/base/cpu.h"

namespace catamaran {

constexpr int64_t kMaxRanked = 160;

struct RankFunctions {
  // ranks[i] = how many keys are less than keys[i], or equal and before it. `keys` has room for 16
  // more than n, `ranks` too. REQUIRES: n <= kMaxRanked.
  void (*rank_32)(uint32_t* keys, uint32_t* ranks, int64_t n);
  void (*rank_64)(uint64_t* keys, uint64_t* ranks, int64_t n);
  // Up to how many keys this is faster than other ways.
  int64_t most_32, most_64;
};

// Of the code built for `isa`, or the nearest below it that was built.
const RankFunctions& RankFunctionsFor(Isa isa);

namespace plain {
extern const RankFunctions kRankFunctions;
}
namespace avx2 {
extern const RankFunctions kRankFunctions;
}
namespace avx512 {
extern const RankFunctions kRankFunctions;
}

}  // namespace catamaran

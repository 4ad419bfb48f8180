#include "catamaran/ops/sorting/rank_simd.h"

#include <cstdint>

#include "catamaran/ops/reduction/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// The ranks of one vector of keys at a time: keys before it count when they are not greater, keys
// behind it when they are less, and those in it as their lanes stand.
template <class Key>
void Rank(Key* keys, Key* ranks, int64_t n) {
  constexpr int64_t w = kLanesOf<Key>;
  for (int64_t k = n; k < n + w; ++k) keys[k] = static_cast<Key>(~Key{0});
  Lanes<Key> lane;
  for (int64_t k = 0; k < w; ++k) lane[k] = static_cast<Key>(k);
  for (int64_t i = 0; i < n; i += w) {
    Lanes<Key> own, rank = {};
    Load(keys + i, own);
    for (int64_t j = 0; j < i; ++j) rank -= (Lanes<Key>)(keys[j] <= own);
    const int64_t end = n - i < w ? n - i : w;
    for (int64_t j = 0; j < end; ++j) {
      const Key key = keys[i + j];
      rank -= (Lanes<Key>)((key < own) | ((key == own) & (static_cast<Key>(j) < lane)));
    }
    for (int64_t j = i + w; j < n; ++j) rank -= (Lanes<Key>)(keys[j] < own);
    std::memcpy(ranks + i, &rank, sizeof(rank));
  }
}

#if defined(__AVX512F__)
constexpr int64_t kMost32 = 160, kMost64 = 160;
#elif defined(__AVX2__)
constexpr int64_t kMost32 = 80, kMost64 = 40;
#else
constexpr int64_t kMost32 = 24, kMost64 = 0;
#endif

}  // namespace

extern const RankFunctions kRankFunctions;
const RankFunctions kRankFunctions = {Rank<uint32_t>, Rank<uint64_t>, kMost32, kMost64};

}  // namespace catamaran::CATAMARAN_ISA

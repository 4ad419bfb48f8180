#include "catamaran/ops/sparse/bag_simd.h"

#include <cstdint>

#include "catamaran/ops/sparse/half_lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// Vectors of 64 bytes that are summed at once: as many as there are registers for.
#if defined(__AVX512F__)
constexpr int kMostVectors = 8;
#elif defined(__AVX2__)
constexpr int kMostVectors = 4;
#else
constexpr int kMostVectors = 2;
#endif

struct NoId {};
struct AnyId {};  // decided for each one: where its cost does not show

template <class I>
inline int64_t IdAt(const BagJob& job, int64_t k) {
  return static_cast<int64_t>(static_cast<const I*>(job.ids)[k]);
}
template <>
inline int64_t IdAt<NoId>(const BagJob&, int64_t k) {
  return k;
}
template <>
inline int64_t IdAt<AnyId>(const BagJob& job, int64_t k) {
  if (job.id_bytes == 8) return IdAt<int64_t>(job, k);
  return job.id_bytes == 4 ? IdAt<int32_t>(job, k) : k;
}

// How many ids ahead a row is asked for: so many bytes are under way at once.
inline int64_t AheadFor(int64_t row_bytes) {
  const int64_t ahead = 8192 / (row_bytes < 64 ? 64 : row_bytes);
  return ahead < 8 ? 8 : ahead > 32 ? 32 : ahead;
}

// Into the second-level cache, which has more requests under way than the first: rows from memory
// come up to twice as fast.
inline void Prefetch(const char* row, int64_t row_bytes) {
  for (int64_t at = 0; at < row_bytes; at += 64) __builtin_prefetch(row + at, 0, 2);
}

// What the sum of a bag is multiplied by; `total` is the number of ids, or the sum of the weights,
// or of their squares.
template <class C>
inline C Factor(int64_t pool, C total) {
  if (pool == kBagSum) return C(1);
  if (pool == kBagSqrt) total = static_cast<C>(__builtin_sqrt(static_cast<double>(total)));
  return total == C(0) ? C(0) : C(1) / total;
}

enum Mode { kPlainSum, kWeightedSum, kLargest };

// N vectors of L lanes from `column` on, for all bags of the job.
template <class E, class I, int L, int N, Mode mode>
void Columns(const BagJob& job, int64_t column) {
  using C = typename ComputedAs<E>::Type;
  using V = typename Lanes<C, L>::V;
  const E* w = static_cast<const E*>(job.w) + column;
  const E* weights = static_cast<const E*>(job.weights);
  E* y = static_cast<E*>(job.y) + column;
  const int64_t width = job.width;
  const int64_t row_bytes = width * static_cast<int64_t>(sizeof(E));
  // The first columns fetch the whole row; the others find it there.
  constexpr bool kHasIds = !__is_same(I, NoId);
  const int64_t ahead =
      column == 0 && kHasIds && job.id_bytes > 0 ? AheadFor(row_bytes) : job.num_ids;
  const int64_t fetch_end = job.num_ids - ahead;
  for (int64_t b = job.first; b < job.last; ++b) {
    const int64_t begin = job.offsets ? job.offsets[b] : b * job.stride;
    const int64_t end = job.offsets ? job.offsets[b + 1] : (b + 1) * job.stride;
    V sums[N] = {};
    C total = C(0);
    bool any = false;
    for (int64_t k = begin; k < end; ++k) {
      if (kHasIds && k < fetch_end) {
        Prefetch(reinterpret_cast<const char*>(w + IdAt<I>(job, k + ahead) * width), row_bytes);
      }
      const int64_t id = IdAt<I>(job, k);
      const E* row = w + id * width;
      if constexpr (mode == kPlainSum) {
        for (int n = 0; n < N; ++n) sums[n] += LoadLanes<L>(row + n * L);
      } else {
        if (job.has_padding && id == job.padding) continue;
        if constexpr (mode == kWeightedSum) {
          const C weight = weights ? LoadLanes<1>(weights + k)[0] : C(1);
          total += job.pool == kBagSqrt ? weight * weight : weight;
          for (int n = 0; n < N; ++n) sums[n] += LoadLanes<L>(row + n * L) * weight;
        } else {
          for (int n = 0; n < N; ++n) {
            const V x = LoadLanes<L>(row + n * L);
            sums[n] = !any ? x : ((x > sums[n]) | (x != x)) ? x : sums[n];
          }
          any = true;
        }
      }
    }
    E* to = y + b * width;
    if constexpr (mode == kLargest) {
      for (int n = 0; n < N; ++n) StoreLanes<L>(sums[n], to + n * L);
    } else {
      if (mode == kPlainSum) total = static_cast<C>(end - begin);
      const C factor = Factor(job.pool, total);
      for (int n = 0; n < N; ++n) StoreLanes<L>(sums[n] * factor, to + n * L);
    }
  }
}

template <class E, class I, Mode mode>
void AllColumns(const BagJob& job) {
  constexpr int L = 64 / sizeof(typename ComputedAs<E>::Type);
  // The other modes are compute-bound or rare: fewer copies of them.
  constexpr int kMost = mode == kPlainSum ? kMostVectors : kMostVectors / 2;
  int64_t column = 0;
  const int64_t width = job.width;
  if constexpr (kMost >= 8) {
    for (; width - column >= 8 * L; column += 8 * L) Columns<E, I, L, 8, mode>(job, column);
  }
  if constexpr (kMost >= 4) {
    for (; width - column >= 4 * L; column += 4 * L) Columns<E, I, L, 4, mode>(job, column);
  }
  if constexpr (kMost == 2 || mode == kPlainSum) {
    for (; width - column >= 2 * L; column += 2 * L) Columns<E, I, L, 2, mode>(job, column);
  }
  for (; width - column >= L; column += L) Columns<E, I, L, 1, mode>(job, column);
  if (width - column >= L / 2) Columns<E, I, L / 2, 1, mode>(job, column), column += L / 2;
  if (width - column >= L / 4) Columns<E, I, L / 4, 1, mode>(job, column), column += L / 4;
  for (; column < width; ++column) Columns<E, I, 1, 1, mode>(job, column);
}

// Rows of 1, 2 or 4 numbers that lie one after another: vectors over several rows, lane k holding
// column k % width, folded at the end.
template <class E>
void NarrowSums(const BagJob& job) {
  using C = typename ComputedAs<E>::Type;
  constexpr int L = 64 / sizeof(C);
  const E* x = static_cast<const E*>(job.w);
  E* y = static_cast<E*>(job.y);
  const int64_t width = job.width;
  for (int64_t b = job.first; b < job.last; ++b) {
    const int64_t begin = job.offsets ? job.offsets[b] : b * job.stride;
    const int64_t end = job.offsets ? job.offsets[b + 1] : (b + 1) * job.stride;
    typename Lanes<C, L>::V sums = {};
    int64_t i = begin * width;
    for (; i + L <= end * width; i += L) sums += LoadLanes<L>(x + i);
    C lanes[L];
    __builtin_memcpy(lanes, &sums, sizeof(lanes));
    for (int64_t k = 0; i + k < end * width; ++k) lanes[k] += LoadLanes<1>(x + i + k)[0];
    for (int64_t half = L / 2; half >= width; half /= 2) {
      for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    const C factor = Factor(job.pool, static_cast<C>(end - begin));
    for (int64_t k = 0; k < width; ++k) {
      const typename Lanes<C, 1>::V value = {lanes[k] * factor};
      StoreLanes<1>(value, y + b * width + k);
    }
  }
}

template <class E>
void PoolBags(const BagJob& job) {
  if (job.pool == kBagMax) {
    AllColumns<E, AnyId, kLargest>(job);
  } else if (job.weights || job.has_padding) {
    AllColumns<E, AnyId, kWeightedSum>(job);
  } else if (job.id_bytes == 8) {
    AllColumns<E, int64_t, kPlainSum>(job);
  } else if (job.id_bytes == 4) {
    AllColumns<E, int32_t, kPlainSum>(job);
  } else if (job.width == 1 || job.width == 2 || job.width == 4) {
    NarrowSums<E>(job);
  } else {
    AllColumns<E, NoId, kPlainSum>(job);
  }
}

template <class T>
void Dots(const BagJob& job, const T* dy, T* dots) {
  constexpr int L = 64 / sizeof(T);
  const T* w = static_cast<const T*>(job.w);
  const int64_t width = job.width, row_bytes = width * static_cast<int64_t>(sizeof(T));
  const int64_t ahead = AheadFor(row_bytes);
  for (int64_t b = job.first; b < job.last; ++b) {
    const int64_t begin = job.offsets ? job.offsets[b] : b * job.stride;
    const int64_t end = job.offsets ? job.offsets[b + 1] : (b + 1) * job.stride;
    const T* g = dy + b * width;
    for (int64_t k = begin; k < end; ++k) {
      if (k + ahead < job.num_ids) {
        const T* later = w + IdAt<AnyId>(job, k + ahead) * width;
        Prefetch(reinterpret_cast<const char*>(later), row_bytes);
      }
      const int64_t id = IdAt<AnyId>(job, k);
      dots[k] = T(0);
      if (job.has_padding && id == job.padding) continue;
      const T* row = w + id * width;
      typename Lanes<T, L>::V sums = {};
      int64_t i = 0;
      for (; i + L <= width; i += L) sums += LoadLanes<L>(row + i) * LoadLanes<L>(g + i);
      T lanes[L];
      __builtin_memcpy(lanes, &sums, sizeof(lanes));
      for (int64_t j = 0; i + j < width; ++j) lanes[j] += row[i + j] * g[i + j];
      for (int64_t half = L / 2; half > 0; half /= 2) {
        for (int64_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
      }
      dots[k] = lanes[0];
    }
  }
}

// Piece by piece: N bytes at `at`.
template <int N>
inline void CopyBytes(const char* from, char* to, int64_t at) {
  typename Lanes<float, N / 4>::V v;
  __builtin_memcpy(&v, from + at, N);
  __builtin_memcpy(to + at, &v, N);
}

// kBytes: of a row where they are known, else 0.
template <class I, int64_t kBytes>
void CopyRowsOf(const BagJob& job, int64_t row_bytes) {
  const int64_t bytes = kBytes > 0 ? kBytes : row_bytes;
  const char* w = static_cast<const char*>(job.w);
  char* y = static_cast<char*>(job.y);
  const int64_t ahead = AheadFor(bytes);
  for (int64_t k = job.first; k < job.last; ++k) {
    if (k + ahead < job.num_ids) Prefetch(w + IdAt<I>(job, k + ahead) * bytes, bytes);
    const char* from = w + IdAt<I>(job, k) * bytes;
    char* to = y + k * bytes;
    int64_t at = 0;
    for (; bytes - at >= 64; at += 64) CopyBytes<64>(from, to, at);
    for (; bytes - at >= 16; at += 16) CopyBytes<16>(from, to, at);
    for (; bytes - at >= 4; at += 4) CopyBytes<4>(from, to, at);
    for (; at < bytes; ++at) to[at] = from[at];
  }
}

template <class I>
void CopyRows(const BagJob& job, int64_t row_bytes) {
  switch (row_bytes) {
    case 32:
      return CopyRowsOf<I, 32>(job, row_bytes);
    case 64:
      return CopyRowsOf<I, 64>(job, row_bytes);
    case 128:
      return CopyRowsOf<I, 128>(job, row_bytes);
    case 256:
      return CopyRowsOf<I, 256>(job, row_bytes);
    default:
      return CopyRowsOf<I, 0>(job, row_bytes);
  }
}

template <class I>
int64_t FindOutside(const void* ids, int64_t num_ids, int64_t rows, int64_t has_padding,
                    int64_t padding) {
  const I* id = static_cast<const I*>(ids);
  const uint64_t limit = static_cast<uint64_t>(rows);
  constexpr int64_t kPiece = 512;
  for (int64_t k = 0; k < num_ids; k += kPiece) {
    const int64_t end = num_ids - k < kPiece ? num_ids : k + kPiece;
    unsigned bad = 0;
    for (int64_t i = k; i < end; ++i) {
      bad |= static_cast<uint64_t>(static_cast<int64_t>(id[i])) >= limit;
    }
    if (!bad) continue;
    for (int64_t i = k; i < end; ++i) {
      const int64_t at = static_cast<int64_t>(id[i]);
      if (static_cast<uint64_t>(at) >= limit && !(has_padding && at == padding)) return i;
    }
  }
  return -1;
}

}  // namespace

extern const BagFunctions kBagFunctions;
const BagFunctions kBagFunctions = {
    {PoolBags<float>, PoolBags<double>, PoolBags<HalfBits>, PoolBags<BrainBits>},
    Dots<float>,
    Dots<double>,
    CopyRows<int32_t>,
    CopyRows<int64_t>,
    FindOutside<int32_t>,
    FindOutside<int64_t>,
};

}  // namespace catamaran::CATAMARAN_ISA

// ops/attention/tile_simd.h
//
// Vectors of floats, and products of small tiles that keep their sums in registers. Included by
// the vector files only. All tiles of scores are transposed: a row for each key, a lane for each
// query, so that softmax works down the lanes and k and v are read as they are.

#ifndef CATAMARAN_ISA
#error "only for files compiled once per instruction set"
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace catamaran::CATAMARAN_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
typedef float V __attribute__((vector_size(64)));
inline V Set(float x) { return _mm512_set1_ps(x); }
inline V Fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
// a where a > b, else b: b where one is NaN.
inline V Max(V a, V b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }  // gcc 12 warns of max_ps
// y, or 0 where x < least.
inline V ZeroBelow(V x, V least, V y) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ), y);
}
constexpr int kMostVectors = 4;                 // of queries that a tile holds at once
constexpr int kTileRows[] = {0, 12, 12, 8, 6};  // rows of a tile, by its vectors
#elif defined(__AVX2__)
constexpr int64_t kLanes = 8;
typedef float V __attribute__((vector_size(32)));
inline V Set(float x) { return _mm256_set1_ps(x); }
inline V Fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
inline V Max(V a, V b) { return _mm256_max_ps(a, b); }
inline V ZeroBelow(V x, V least, V y) {
  return _mm256_and_ps(_mm256_cmp_ps(x, least, _CMP_NLT_UQ), y);
}
constexpr int kMostVectors = 2;
constexpr int kTileRows[] = {0, 8, 6};
#else
constexpr int64_t kLanes = 4;
typedef float V __attribute__((vector_size(16)));
inline V Set(float x) { return V{x, x, x, x}; }
inline V Fma(V a, V b, V c) { return a * b + c; }
inline V Max(V a, V b) { return a > b ? a : b; }
inline V ZeroBelow(V x, V least, V y) { return x < least ? V{} : y; }
constexpr int kMostVectors = 2;
constexpr int kTileRows[] = {0, 8, 4};
#endif
typedef int32_t VI __attribute__((vector_size(kLanes * 4)));

inline V Load(const float* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
inline void Store(float* p, V v) { __builtin_memcpy(p, &v, sizeof(v)); }
inline VI Bits(V v) {
  VI bits;
  __builtin_memcpy(&bits, &v, sizeof(bits));
  return bits;
}
inline V FromBits(VI bits) {
  V v;
  __builtin_memcpy(&v, &bits, sizeof(v));
  return v;
}

// Lanes of two vectors, a's before b's, in groups of `group`: the first halves of all groups, or
// the second ones.
template <int64_t group, bool second, size_t... I>
inline V HalvesOf(V a, V b, std::index_sequence<I...>) {
  constexpr int64_t half = group / 2;
  return __builtin_shufflevector(
      a, b, (int64_t{I} / half * group + int64_t{I} % half + (second ? half : 0))...);
}
using Lanes = std::make_index_sequence<kLanes>;

// The sum of the lanes of each of the kLanes vectors.
template <int64_t group = kLanes>
inline V SumEach(const V* v) {
  if constexpr (group == 1) {
    return v[0];
  } else {
    V folded[group / 2];
#pragma GCC unroll 8
    for (int64_t i = 0; i < group / 2; ++i) {
      folded[i] = HalvesOf<group, false>(v[2 * i], v[2 * i + 1], Lanes()) +
                  HalvesOf<group, true>(v[2 * i], v[2 * i + 1], Lanes());
    }
    return SumEach<group / 2>(folded);
  }
}

inline float Sum(V v) {
  float lanes[kLanes];
  Store(lanes, v);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// Exchanges blocks of `half` lanes between vectors that are `half` apart.
template <int64_t half, bool second, size_t... I>
inline V Exchange(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(
      a, b,
      (int64_t{I} / half % 2 == 0 ? int64_t{I} + (second ? half : 0)
                                  : kLanes + int64_t{I} - (second ? 0 : half))...);
}

// A square of kLanes vectors, rows to columns.
template <int64_t half = kLanes / 2>
inline void Transpose(V* rows) {
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes; ++i) {
    if (i / half % 2 == 1) continue;
    const V a = rows[i], b = rows[i + half];
    rows[i] = Exchange<half, false>(a, b, Lanes());
    rows[i + half] = Exchange<half, true>(a, b, Lanes());
  }
  if constexpr (half > 1) Transpose<half / 2>(rows);
}

// 2^x for x <= 0; exactly 0 from -126 down, -infinity too. NaN stays. x = n + r with |r| <= 1/2;
// 2^r from a near-minimax polynomial.
inline V Exp2(V x) {
  const V least = Set(-126.0f), shift = Set(12582912.0f);  // 1.5 * 2^23: rounds to an integer
  const V c = Max(least, x);
  const V shifted = c + shift;
  const V r = c - (shifted - shift);
  V p = Fma(Set(1.3264726e-3f), r, Set(9.671513e-3f));
  p = Fma(p, r, Set(5.5507336e-2f));
  p = Fma(p, r, Set(0.24022242f));
  p = Fma(p, r, Set(0.693147f));
  p = Fma(p, r, Set(1.0f));
  const V scale = FromBits((Bits(shifted) << 23) + 0x3F800000);
  return ZeroBelow(x, least, p * scale);
}

// c[i][j] += or = sum over p < count of a(p, i) * b[p][j], for `rows` values of i and the lanes of
// R vectors of j. a(p, i) is a[p * a_step + i * a_row]; rows of b and c are b_step and c_row apart.
// `start`: c is first multiplied by these lanes (null: it starts at 0).
enum class Begin { kZero, kAdd, kScaled };

template <int R, int C, Begin begin>
inline void Tile(const float* a, int64_t a_step, int64_t a_row, const float* b, int64_t b_step,
                 float* c, int64_t c_row, int64_t count, const float* start) {
  V sums[C][R];
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      if constexpr (begin == Begin::kZero) {
        sums[i][r] = V{};
      } else {
        sums[i][r] = Load(c + i * c_row + r * kLanes);
        if constexpr (begin == Begin::kScaled) sums[i][r] *= Load(start + r * kLanes);
      }
    }
  }
  for (int64_t p = 0; p < count; ++p) {
    V row[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) row[r] = Load(b + p * b_step + r * kLanes);
    const float* column = a + p * a_step;
#pragma GCC unroll 16
    for (int i = 0; i < C; ++i) {
      const V x = Set(column[i * a_row]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sums[i][r] = Fma(x, row[r], sums[i][r]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) Store(c + i * c_row + r * kLanes, sums[i][r]);
  }
}

// The same for any number of rows.
template <int R, Begin begin>
void TileColumn(const float* a, int64_t a_step, int64_t a_row, const float* b, int64_t b_step,
                float* c, int64_t c_row, int64_t rows, int64_t count, const float* start) {
  constexpr int kFull = kTileRows[R], kHalf = kFull / 2, kQuarter = kFull / 4;
  int64_t i = 0;
  const auto run = [&]<int C>() {
    Tile<R, C, begin>(a + i * a_row, a_step, a_row, b, b_step, c + i * c_row, c_row, count, start);
    i += C;
  };
  while (i + kFull <= rows) run.template operator()<kFull>();
  if (i + kHalf <= rows) run.template operator()<kHalf>();
  if constexpr (kQuarter > 1) {
    if (i + kQuarter <= rows) run.template operator()<kQuarter>();
  }
  while (i < rows) run.template operator()<1>();
}

// And for any number of vectors.
template <Begin begin>
void Multiply(const float* a, int64_t a_step, int64_t a_row, const float* b, int64_t b_step,
              float* c, int64_t c_row, int64_t rows, int64_t vectors, int64_t count,
              const float* start) {
  int64_t v = 0;
  const auto run = [&]<int R>() {
    TileColumn<R, begin>(a, a_step, a_row, b + v * kLanes, b_step, c + v * kLanes, c_row, rows,
                         count, start == nullptr ? nullptr : start + v * kLanes);
    v += R;
  };
  while (v + kMostVectors <= vectors) run.template operator()<kMostVectors>();
  if constexpr (kMostVectors > 3) {
    if (v + 3 <= vectors) run.template operator()<3>();
  }
  if constexpr (kMostVectors > 2) {
    if (v + 2 <= vectors) run.template operator()<2>();
  }
  if (v < vectors) run.template operator()<1>();
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

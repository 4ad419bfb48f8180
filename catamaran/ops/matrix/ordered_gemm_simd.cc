#include "catamaran/ops/matrix/ordered_gemm_simd.h"

// Without fused multiply-add an order of roundings could not be the same: no code for `plain`.
#if defined(__AVX2__)

#include <immintrin.h>

#include <cstdint>

namespace catamaran::CATAMARAN_ISA {
namespace {

#if defined(__AVX512F__)

constexpr int kLanes = 16;
using Floats = __m512;
using Mask = __mmask16;
// The first `lanes` lanes.
inline Mask MaskOf(int64_t lanes) {
  return lanes >= kLanes ? Mask{0xffff} : static_cast<Mask>((1u << lanes) - 1);
}
inline Floats Zeros() { return _mm512_setzero_ps(); }
inline Floats Load(const float* from) { return _mm512_loadu_ps(from); }
inline Floats Load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
inline void Store(float* to, Floats v) { _mm512_storeu_ps(to, v); }
inline void Store(float* to, Floats v, Mask mask) { _mm512_mask_storeu_ps(to, mask, v); }
inline Floats Same(float x) { return _mm512_set1_ps(x); }
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
#else

constexpr int kLanes = 8;
using Floats = __m256;
using Mask = __m256i;
inline Mask MaskOf(int64_t lanes) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const int count = static_cast<int>(lanes > kLanes ? kLanes : lanes);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), numbers);
}
inline Floats Zeros() { return _mm256_setzero_ps(); }
inline Floats Load(const float* from) { return _mm256_loadu_ps(from); }
inline Floats Load(const float* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
inline void Store(float* to, Floats v) { _mm256_storeu_ps(to, v); }
inline void Store(float* to, Floats v, Mask mask) { _mm256_maskstore_ps(to, mask, v); }
inline Floats Same(float x) { return _mm256_set1_ps(x); }
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }

#endif

// Rows [0, R) and V vectors of columns, all of k. Each sum is one chain of fused multiply-adds from
// p = 0 on: that is the promise of ordered_gemm.h. The last vector ends with `tail`.
template <int R, int V>
void Tile(int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, const float* start,
          int64_t ld_start, float* c, int64_t ldc, Mask tail) {
  Floats sums[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      if (start == nullptr) {
        sums[r][v] = Zeros();
      } else {
        const float* from = start + r * ld_start + v * kLanes;
        sums[r][v] = v + 1 < V ? Load(from) : Load(from, tail);
      }
    }
  }
  for (int64_t p = 0; p < k; ++p, b += ldb) {
    Floats row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      row[v] = v + 1 < V ? Load(b + v * kLanes) : Load(b + v * kLanes, tail);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Floats x = Same(a[r * lda + p]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sums[r][v] = MultiplyAdd(x, row[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      float* to = c + r * ldc + v * kLanes;
      v + 1 < V ? Store(to, sums[r][v]) : Store(to, sums[r][v], tail);
    }
  }
}

using TileFn = void (*)(int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                        const float* start, int64_t ld_start, float* c, int64_t ldc, Mask tail);

// Tiles of V vectors, for each number of rows. Registers hold the sums, a row of b and a number of
// a.
template <int V, int... rows>
struct Tiles {
  static constexpr int64_t kColumns = V * kLanes;
  static constexpr int64_t kMostRows = sizeof...(rows);
  static constexpr TileFn kOfRows[] = {nullptr, Tile<rows, V>...};
};
#if defined(__AVX512F__)
using Tiles1 = Tiles<1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>;
using Tiles2 = Tiles<2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>;
using Tiles4 = Tiles<4, 1, 2, 3, 4, 5, 6>;
using Tiles8 = Tiles<8, 1, 2, 3>;
#else
using Tiles1 = Tiles<1, 1, 2, 3, 4, 5, 6>;
using Tiles2 = Tiles<2, 1, 2, 3, 4, 5, 6>;
using Tiles4 = Tiles<4, 1, 2, 3>;
using Tiles8 = Tiles<8, 1>;
#endif
constexpr int64_t kPanel = Tiles2::kColumns;  // columns that are packed together
static_assert(kPanel <= kMostPanel && Tiles2::kMostRows <= kMostRows);

// Columns [j, j + columns) of rows [r, r + rows), with b's columns at `b`.
template <class T>
void Run(const OrderedProduct& p, int64_t r, int64_t rows, int64_t j, int64_t columns,
         const float* b, int64_t ldb) {
  const float* start = p.start == nullptr ? nullptr : p.start + r * p.ld_start + j;
  T::kOfRows[rows](p.k, p.a + r * p.lda, p.lda, b, ldb, start, p.ld_start, p.c + r * p.ldc + j,
                   p.ldc, MaskOf(columns - (T::kColumns - kLanes)));
}

// Calls part(r, rows) for tiles of at most `most` rows, as equal as can be.
template <class F>
void ForEachRowTile(int64_t m, int64_t most, F part) {
  const int64_t tiles = (m + most - 1) / most;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t r = m * t / tiles;
    part(r, m * (t + 1) / tiles - r);
  }
}

// All rows of as many columns from j on as a tile has, or are left; returns how many.
template <class T>
int64_t Columns(const OrderedProduct& p, int64_t j) {
  const int64_t left = p.n - j, columns = left < T::kColumns ? left : T::kColumns;
  ForEachRowTile(p.m, T::kMostRows,
                 [&](int64_t r, int64_t rows) { Run<T>(p, r, rows, j, columns, p.b + j, p.ldb); });
  return columns;
}

// Few rows: long rows of sums, so that enough chains run at once. Only a tile's last vector may be
// cut off.
void MultiplyUnpacked(const OrderedProduct& p) {
  for (int64_t j = 0; j < p.n;) {
    const int64_t left = p.n - j;
    if (p.m <= Tiles8::kMostRows && left > Tiles8::kColumns - kLanes) {
      j += Columns<Tiles8>(p, j);
    } else if (p.m <= Tiles4::kMostRows && left > Tiles4::kColumns - kLanes) {
      j += Columns<Tiles4>(p, j);
    } else if (left > kLanes) {
      j += Columns<Tiles2>(p, j);
    } else {
      j += Columns<Tiles1>(p, j);
    }
  }
}

// Columns [j, j + columns) of b, panel by panel, each [k, kPanel]; zeros behind the last column.
void Pack(const OrderedProduct& p, int64_t j, int64_t columns, float* packed) {
  for (int64_t from = 0; from < columns; from += kPanel) {
    const int64_t left = columns - from;
    const Mask first = MaskOf(left), second = MaskOf(left < kLanes ? 0 : left - kLanes);
    const float* b = p.b + j + from;
    for (int64_t row = 0; row < p.k; ++row, b += p.ldb, packed += kPanel) {
      Store(packed, Load(b, first));
      Store(packed + kLanes, Load(b + kLanes, second));
    }
  }
}

// The product of rows [r, r + rows) alone. Rows whose steps are large powers of two would meet in
// few lines of the first cache, so `copy` gets them.
OrderedProduct OfCopiedRows(OrderedProduct p, int64_t r, int64_t rows, float* copy) {
  const int64_t step = (p.k + 15) / 16 * 16 + 16;
  for (int64_t i = 0; i < rows; ++i) {
    __builtin_memcpy(copy + i * step, p.a + (r + i) * p.lda,
                     static_cast<size_t>(p.k) * sizeof(float));
  }
  p.m = rows;
  p.a = copy;
  p.lda = step;
  if (p.start != nullptr) p.start += r * p.ld_start;
  p.c += r * p.ldc;
  return p;
}

void Multiply(const OrderedProduct& product, const PackedMemory* memory) {
  if (memory == nullptr) return MultiplyUnpacked(product);
  const bool copies_rows = product.lda % 256 == 0;
  const int64_t k = product.k, block = memory->room / (k * kPanel) * kPanel;
  for (int64_t j = 0; j < product.n; j += block) {
    const int64_t columns = product.n - j < block ? product.n - j : block;
    Pack(product, j, columns, memory->panels);
    ForEachRowTile(product.m, Tiles2::kMostRows, [&](int64_t r, int64_t rows) {
      const OrderedProduct p = copies_rows ? OfCopiedRows(product, r, rows, memory->rows) : product;
      const int64_t first = copies_rows ? 0 : r;
      const float* b = memory->panels;
      for (int64_t from = 0; from < columns; from += kPanel, b += k * kPanel) {
        const int64_t left = columns - from;
        if (left > kLanes) {
          Run<Tiles2>(p, first, rows, j + from, left < kPanel ? left : kPanel, b, kPanel);
        } else {
          Run<Tiles1>(p, first, rows, j + from, left, b, kPanel);
        }
      }
    });
  }
}

}  // namespace

const OrderedGemmTable kOrderedGemm = {Multiply};

}  // namespace catamaran::CATAMARAN_ISA

#endif  // __AVX2__

#include "catamaran/ops/shape/strided_move_simd.h"

#include <cstddef>
#include <cstdint>

namespace catamaran::CATAMARAN_ISA {
namespace {

// Sixteen bytes as one element.
typedef uint64_t Wide __attribute__((vector_size(16)));

// T where its address may be any, and may also be looked at as something else.
template <class T>
struct Loose {
  typedef T Type __attribute__((aligned(1), may_alias));
};

template <class T>
inline T Load(const char* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
inline void Store(char* at, const T& value) {
  __builtin_memcpy(at, &value, sizeof(T));
}

#if defined(__AVX512BW__)
constexpr int64_t kLanes = 4;
#elif defined(__AVX2__)
constexpr int64_t kLanes = 2;
#else
constexpr int64_t kLanes = 1;
#endif

// A vector register.
typedef uint64_t Full __attribute__((vector_size(16 * kLanes)));

// Steps of one V each, the last one over the end of the one before.
template <class V>
inline void CopyShort(const char* x, char* y, int64_t bytes) {
  constexpr int64_t step = sizeof(V);
  for (int64_t i = 0; i + step < bytes; i += step) Store(y + i, Load<V>(x + i));
  Store(y + bytes - step, Load<V>(x + bytes - step));
}

void Copy(const char* x, char* y, int64_t rows, int64_t x_row, int64_t y_row, int64_t bytes) {
  constexpr int64_t kShort = 1024;  // longer than this the library's way to copy pays
  if (bytes > kShort) {
    for (int64_t r = 0; r < rows; ++r) {
      __builtin_memcpy(y + r * y_row, x + r * x_row, static_cast<size_t>(bytes));
    }
  } else if (bytes >= static_cast<int64_t>(sizeof(Full))) {
    for (int64_t r = 0; r < rows; ++r) CopyShort<Full>(x + r * x_row, y + r * y_row, bytes);
  } else if (bytes >= 16) {
    for (int64_t r = 0; r < rows; ++r) CopyShort<Wide>(x + r * x_row, y + r * y_row, bytes);
  } else if (bytes >= 8) {
    for (int64_t r = 0; r < rows; ++r) {
      const char* from = x + r * x_row;
      char* to = y + r * y_row;
      const auto head = Load<uint64_t>(from), tail = Load<uint64_t>(from + bytes - 8);
      Store(to, head);
      Store(to + bytes - 8, tail);
    }
  } else if (bytes >= 4) {
    for (int64_t r = 0; r < rows; ++r) {
      const char* from = x + r * x_row;
      char* to = y + r * y_row;
      const auto head = Load<uint32_t>(from), tail = Load<uint32_t>(from + bytes - 4);
      Store(to, head);
      Store(to + bytes - 4, tail);
    }
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < bytes; ++i) y[r * y_row + i] = x[r * x_row + i];
    }
  }
}

// With the count known where it is small, so that the inner loop goes.
template <class T, int64_t known>
inline void FillLoop(const char* x, char* y, int64_t rows, int64_t x_row, int64_t y_row,
                     int64_t count) {
  if (known > 0) count = known;
  for (int64_t r = 0; r < rows; ++r) {
    const T value = Load<T>(x + r * x_row);
    auto* to = reinterpret_cast<typename Loose<T>::Type*>(y + r * y_row);
    for (int64_t i = 0; i < count; ++i) to[i] = value;
  }
}

template <class T>
void Fill(const char* x, char* y, int64_t rows, int64_t x_row, int64_t y_row, int64_t count) {
  switch (count) {
    case 2:
      return FillLoop<T, 2>(x, y, rows, x_row, y_row, count);
    case 3:
      return FillLoop<T, 3>(x, y, rows, x_row, y_row, count);
    case 4:
      return FillLoop<T, 4>(x, y, rows, x_row, y_row, count);
    default:
      return FillLoop<T, 0>(x, y, rows, x_row, y_row, count);
  }
}

// Steps in elements; those that are known let the compiler use vectors.
template <class T, int64_t x_known, int64_t y_known>
inline void StridedLoop(const T* __restrict x, T* __restrict y, int64_t count, int64_t x_step,
                        int64_t y_step) {
  if (x_known != 0) x_step = x_known;
  if (y_known != 0) y_step = y_known;
  for (int64_t i = 0; i < count; ++i) y[i * y_step] = x[i * x_step];
}

template <class T>
void Strided(const char* x, char* y, int64_t rows, int64_t x_row, int64_t y_row, int64_t count,
             int64_t x_step, int64_t y_step) {
  using U = typename Loose<T>::Type;
  const int64_t xs = x_step / static_cast<int64_t>(sizeof(T));
  const int64_t ys = y_step / static_cast<int64_t>(sizeof(T));
  for (int64_t r = 0; r < rows; ++r) {
    const auto* from = reinterpret_cast<const U*>(x + r * x_row);
    auto* to = reinterpret_cast<U*>(y + r * y_row);
    if (ys == 1 && xs == -1) {
      StridedLoop<U, -1, 1>(from, to, count, xs, ys);
    } else if (ys == 1 && xs == 2) {
      StridedLoop<U, 2, 1>(from, to, count, xs, ys);
    } else if (ys == 1) {
      StridedLoop<U, 0, 1>(from, to, count, xs, ys);
    } else if (xs == 1) {
      StridedLoop<U, 1, 0>(from, to, count, xs, ys);
    } else {
      StridedLoop<U, 0, 0>(from, to, count, xs, ys);
    }
  }
}

// ---- Transposing.
//
// A tile is kLanes * N rows of x by N columns, N elements being 16 bytes. A vector holds the
// same 16 bytes of rows i, i + N, …: one in each lane. Interleaving vectors i and i + N/2, low
// halves and high halves, log2(N) times, transposes every lane's N by N square; vector c is then
// a stretch of row c of y.

template <class T, int64_t lanes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(16 * lanes)));
  static constexpr int64_t kSide = 16 / static_cast<int64_t>(sizeof(T));
};

typedef uint64_t Wide2 __attribute__((vector_size(32)));

template <class T, int64_t lanes>
inline typename Lanes<T, lanes>::Vector LoadLanes(const char* x, int64_t between) {
  using Vector = typename Lanes<T, lanes>::Vector;
  if constexpr (lanes == 1) {
    return Load<Vector>(x);
  } else {
    const Wide2 low = __builtin_shufflevector(Load<Wide>(x), Load<Wide>(x + between), 0, 1, 2, 3);
    if constexpr (lanes == 2) {
      return reinterpret_cast<Vector>(low);
    } else {
      const Wide2 high = __builtin_shufflevector(Load<Wide>(x + 2 * between),
                                                 Load<Wide>(x + 3 * between), 0, 1, 2, 3);
      return reinterpret_cast<Vector>(__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7));
    }
  }
}

// Elements of the low (or high) halves of each lane of a and b, in turn.
template <class T, int64_t lanes, bool high>
inline typename Lanes<T, lanes>::Vector Interleave(typename Lanes<T, lanes>::Vector a,
                                                   typename Lanes<T, lanes>::Vector b) {
  constexpr int64_t side = Lanes<T, lanes>::kSide;
  constexpr int64_t total = side * lanes;
  typename Lanes<T, lanes>::Vector mask{};
  for (int64_t i = 0; i < total; ++i) {
    const int64_t lane = i / side, k = i % side;
    const int64_t at = lane * side + k / 2 + (high ? side / 2 : 0);
    mask[i] = static_cast<T>(k % 2 == 0 ? at : at + total);
  }
  return __builtin_shuffle(a, b, mask);
}

template <class T, int64_t lanes>
inline void Tile(const char* x, char* y, int64_t x_row, int64_t y_row) {
  constexpr int64_t side = Lanes<T, lanes>::kSide;
  typename Lanes<T, lanes>::Vector a[side], b[side];
#pragma GCC unroll 16
  for (int64_t i = 0; i < side; ++i) a[i] = LoadLanes<T, lanes>(x + i * x_row, side * x_row);
#pragma GCC unroll 4
  for (int64_t stage = 1; stage < side; stage *= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < side / 2; ++i) {
      b[2 * i] = Interleave<T, lanes, false>(a[i], a[i + side / 2]);
      b[2 * i + 1] = Interleave<T, lanes, true>(a[i], a[i + side / 2]);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < side; ++i) a[i] = b[i];
  }
#pragma GCC unroll 16
  for (int64_t i = 0; i < side; ++i) Store(y + i * y_row, a[i]);
}

template <class T>
inline void TransposeScalar(const char* x, char* y, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
                            int64_t x_row, int64_t y_row) {
  constexpr int64_t w = sizeof(T);
  if (r1 - r0 < c1 - c0) {
    for (int64_t r = r0; r < r1; ++r) {
      for (int64_t c = c0; c < c1; ++c)
        Store(y + c * y_row + r * w, Load<T>(x + r * x_row + c * w));
    }
  } else {
    for (int64_t c = c0; c < c1; ++c) {
      for (int64_t r = r0; r < r1; ++r)
        Store(y + c * y_row + r * w, Load<T>(x + r * x_row + c * w));
    }
  }
}

// Few columns that lie side by side, as the colours of pixels: the compiler knows how to pull a
// known number of them apart.
template <class T, int64_t few>
inline void PullApart(const char* x, char* y, int64_t rows, int64_t y_row) {
  using U = typename Loose<T>::Type;
  const U* __restrict from = reinterpret_cast<const U*>(x);
  U* __restrict to[few];
  for (int64_t c = 0; c < few; ++c) to[c] = reinterpret_cast<U*>(y + c * y_row);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < few; ++c) to[c][r] = from[r * few + c];
  }
}

// The other way round.
template <class T, int64_t few>
inline void PutTogether(const char* x, char* y, int64_t columns, int64_t x_row) {
  using U = typename Loose<T>::Type;
  U* __restrict to = reinterpret_cast<U*>(y);
  const U* __restrict from[few];
  for (int64_t r = 0; r < few; ++r) from[r] = reinterpret_cast<const U*>(x + r * x_row);
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < few; ++r) to[c * few + r] = from[r][c];
  }
}

// Whether it was one of these.
template <class T>
inline bool TransposeFew(const char* x, char* y, int64_t rows, int64_t columns, int64_t x_row,
                         int64_t y_row) {
  constexpr int64_t w = sizeof(T);
  if (columns <= 4 && x_row == columns * w) {
    if (columns == 2) return PullApart<T, 2>(x, y, rows, y_row), true;
    if (columns == 3) return PullApart<T, 3>(x, y, rows, y_row), true;
    if (columns == 4) return PullApart<T, 4>(x, y, rows, y_row), true;
  }
  if (rows <= 4 && y_row == rows * w) {
    if (rows == 2) return PutTogether<T, 2>(x, y, columns, x_row), true;
    if (rows == 3) return PutTogether<T, 3>(x, y, columns, x_row), true;
    if (rows == 4) return PutTogether<T, 4>(x, y, columns, x_row), true;
  }
  return false;
}

// The rows of a block keep their pages in the TLB while all columns pass.
constexpr int64_t kBlock = 64;
// Whole cache lines of x are taken at once, through a buffer: rows that are a power of two apart
// fall into the same few places of the cache and would push each other out.
constexpr int64_t kLine = 64;

// `tall` rows by one line of columns.
template <class T, int64_t lanes>
inline void Slab(const char* x, char* y, int64_t x_row, int64_t y_row) {
  constexpr int64_t w = sizeof(T), side = 16 / w, tall = side * lanes;
  alignas(64) char buffer[tall * kLine];
#pragma GCC unroll 4
  for (int64_t r = 0; r < tall; ++r) {
    for (int64_t k = 0; k < kLine; k += 16 * kLanes) {
      Store(buffer + r * kLine + k, Load<Full>(x + r * x_row + k));
    }
  }
  for (int64_t k = 0; k < kLine; k += 16) {
    Tile<T, lanes>(buffer + k, y + k / w * y_row, kLine, y_row);
  }
}

template <class T>
void Transpose(const char* x, char* y, int64_t rows, int64_t columns, int64_t x_row,
               int64_t y_row) {
  constexpr int64_t w = sizeof(T);
  if constexpr (w == 16) {
    constexpr int64_t kFew = 4;
    for (int64_t b = 0; b < rows; b += kBlock) {
      const int64_t end = b + kBlock < rows ? b + kBlock : rows;
      for (int64_t c = 0; c < columns; c += kFew) {
        TransposeScalar<T>(x, y, b, end, c, c + kFew < columns ? c + kFew : columns, x_row, y_row);
      }
    }
  } else {
    if (TransposeFew<T>(x, y, rows, columns, x_row, y_row)) return;
    constexpr int64_t side = 16 / w, tall = side * kLanes, line = kLine / w;
    for (int64_t b = 0; b < rows; b += kBlock) {
      const int64_t end = b + kBlock < rows ? b + kBlock : rows;
      int64_t c = 0;
      for (; c + line <= columns; c += line) {
        int64_t r = b;
        for (; r + tall <= end; r += tall) {
          Slab<T, kLanes>(x + r * x_row + c * w, y + c * y_row + r * w, x_row, y_row);
        }
        for (; r + side <= end; r += side) {
          Slab<T, 1>(x + r * x_row + c * w, y + c * y_row + r * w, x_row, y_row);
        }
        TransposeScalar<T>(x, y, r, end, c, c + line, x_row, y_row);
      }
      for (; c + side <= columns; c += side) {
        int64_t r = b;
        for (; r + side <= end; r += side) {
          Tile<T, 1>(x + r * x_row + c * w, y + c * y_row + r * w, x_row, y_row);
        }
        TransposeScalar<T>(x, y, r, end, c, c + side, x_row, y_row);
      }
      TransposeScalar<T>(x, y, b, end, c, columns, x_row, y_row);
    }
  }
}

}  // namespace

const MoveKernels& GetMoveKernels() {
  static constexpr MoveKernels kernels = {
      Copy,
      {Fill<uint8_t>, Fill<uint16_t>, Fill<uint32_t>, Fill<uint64_t>, Fill<Wide>},
      {Strided<uint8_t>, Strided<uint16_t>, Strided<uint32_t>, Strided<uint64_t>, Strided<Wide>},
      {Transpose<uint8_t>, Transpose<uint16_t>, Transpose<uint32_t>, Transpose<uint64_t>,
       Transpose<Wide>}};
  return kernels;
}

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/ops/sparse/interaction_simd.h"

#include <cstdint>

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors stay in this file

namespace catamaran::CATAMARAN_ISA {
namespace {

// 64 bytes of numbers.
template <class T>
struct Vector {
  static constexpr int64_t kLanes = 64 / sizeof(T);
  typedef T V __attribute__((vector_size(64)));
};

template <class T>
inline typename Vector<T>::V Load(const T* from) {
  typename Vector<T>::V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <class T>
inline void Store(typename Vector<T>::V v, T* to) {
  __builtin_memcpy(to, &v, sizeof(v));
}
// The numbers of the lanes, as integers as wide as they are.
template <class T>
struct LaneNumbers;
template <>
struct LaneNumbers<float> {
  typedef int32_t I;
  typedef I M __attribute__((vector_size(64)));
  static constexpr M kValue = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
};
template <>
struct LaneNumbers<double> {
  typedef int64_t I;
  typedef I M __attribute__((vector_size(64)));
  static constexpr M kValue = {0, 1, 2, 3, 4, 5, 6, 7};
};
// The first `have` lanes from memory, zeros behind. Nothing at or behind `end` is read.
template <class T>
inline void LoadFirst(const T* from, int64_t have, const T* end, typename Vector<T>::V* to) {
  using V = typename Vector<T>::V;
  if (end - from >= Vector<T>::kLanes) {
    using Numbers = LaneNumbers<T>;
    *to = Numbers::kValue < static_cast<typename Numbers::I>(have) ? Load(from) : (V){};
    return;
  }
  T lanes[Vector<T>::kLanes] = {};
  for (int64_t i = 0; i < have; ++i) lanes[i] = from[i];
  *to = Load(lanes);
}
// Writes the first `have` lanes; what stands behind them and before `end` may be written as it is.
template <class T>
inline void StoreFirst(typename Vector<T>::V v, int64_t have, T* to, const T* end) {
  if (end - to >= Vector<T>::kLanes) {
    using Numbers = LaneNumbers<T>;
    Store<T>(Numbers::kValue < static_cast<typename Numbers::I>(have) ? v : Load(to), to);
    return;
  }
  T lanes[Vector<T>::kLanes];
  Store<T>(v, lanes);
  for (int64_t i = 0; i < have; ++i) to[i] = lanes[i];
}

// The lanes, added up pairwise.
template <class T>
inline T AddLanes(typename Vector<T>::V v) {
  T lanes[Vector<T>::kLanes];
  __builtin_memcpy(lanes, &v, sizeof(v));
  for (int64_t half = Vector<T>::kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// Numbers [i, i + L) of all fields of one example: each times the sum of those before it, so
// nothing is subtracted and nothing cancels. `have` of them are there.
template <class T>
struct MachineSums {
  using V = typename Vector<T>::V;
  V total = {}, before = {};

  void Add(const V& v) {
    total += v * before;
    before += v;
  }
  void AddFields(const T* x, int64_t fields, int64_t width, int64_t have, const T* end) {
    if (have >= Vector<T>::kLanes) {
      for (int64_t f = 0; f < fields; ++f) Add(Load(x + f * width));
      return;
    }
    for (int64_t f = 0; f < fields; ++f) {
      V v;
      LoadFirst(x + f * width, have, end, &v);
      Add(v);
    }
  }
};

template <class T>
void Machine(const T* x, int64_t fields, const T* more, int64_t more_fields, T* y, int64_t rows,
             int64_t width) {
  constexpr int64_t L = Vector<T>::kLanes;
  const T* end = x + rows * fields * width;
  const T* more_end = more + rows * more_fields * width;
  for (int64_t r = 0; r < rows; ++r, x += fields * width, more += more_fields * width) {
    MachineSums<T> sums;
    for (int64_t i = 0; i < width; i += L) {
      sums.before = typename Vector<T>::V{};
      sums.AddFields(x + i, fields, width, width - i, end);
      if (more_fields > 0) sums.AddFields(more + i, more_fields, width, width - i, more_end);
    }
    y[r] = AddLanes<T>(sums.total);
  }
}

template <class T>
void MachineGrad(const T* x, const T* dy, T* dx, int64_t rows, int64_t fields, int64_t width) {
  using V = typename Vector<T>::V;
  constexpr int64_t L = Vector<T>::kLanes;
  const T* end = x + rows * fields * width;
  const T* dx_end = dx + rows * fields * width;
  for (int64_t r = 0; r < rows; ++r, x += fields * width, dx += fields * width) {
    const T g = dy[r];
    int64_t i = 0;
    for (; i + L <= width; i += L) {
      V sum = {};
      for (int64_t f = 0; f < fields; ++f) sum += Load(x + f * width + i);
      for (int64_t f = 0; f < fields; ++f) {
        Store<T>((sum - Load(x + f * width + i)) * g, dx + f * width + i);
      }
    }
    if (i == width) continue;
    V sum = {};
    for (int64_t f = 0; f < fields; ++f) {
      V v;
      LoadFirst(x + f * width + i, width - i, end, &v);
      sum += v;
    }
    for (int64_t f = 0; f < fields; ++f) {
      V v;
      LoadFirst(x + f * width + i, width - i, end, &v);
      StoreFirst<T>((sum - v) * g, width - i, dx + f * width + i, dx_end);
    }
  }
}

// Numbers of an example that are turned round at once, so that one vector holds one number of many
// fields.
constexpr int64_t kTurned = 8192;
constexpr int64_t kBlock = 8;  // fields whose products are made at once

// Products of fields [f0, f0 + kBlock) with fields [g0, g0 + L), over `count` numbers from `x` on;
// `turned` holds these numbers of fields g0 ….
template <class T>
inline void DotBlock(const T* x, int64_t width, const T* turned, int64_t pitch, int64_t count,
                     int64_t f0, int64_t g0, int64_t fields, int64_t self, bool add, T* y,
                     const T* y_end) {
  using V = typename Vector<T>::V;
  constexpr int64_t L = Vector<T>::kLanes;
  const T* rows[kBlock];
  for (int64_t k = 0; k < kBlock; ++k) {
    rows[k] = x + (f0 + k < fields ? f0 + k : fields - 1) * width;
  }
  V sums[kBlock] = {};
  for (int64_t i = 0; i < count; ++i) {
    const V v = Load(turned + i * pitch + g0);
#pragma GCC unroll 8
    for (int64_t k = 0; k < kBlock; ++k) sums[k] += v * rows[k][i];
  }
  for (int64_t k = 0; k < kBlock && f0 + k < fields; ++k) {
    const int64_t f = f0 + k;
    int64_t have = f + self - g0;  // products with fields of smaller number (or its own)
    if (have <= 0) continue;
    if (have > L) have = L;
    // Before field f stand f (f - 1) / 2 products, or f (f + 1) / 2.
    T* to = y + f * (f - 1 + 2 * self) / 2 + g0;
    V sum = sums[k];
    if (add) {
      V before;
      LoadFirst<T>(to, have, y_end, &before);
      sum += before;
    }
    StoreFirst<T>(sum, have, to, y_end);
  }
}

// turned[i, f] = x[f, i] for `count` numbers of all fields; zeros behind the last field.
template <class T>
inline void Turn(const T* x, int64_t width, int64_t count, int64_t fields, int64_t pitch,
                 T* turned) {
  int64_t done = 0;  // numbers of all fields
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    // Squares of 16 by 16: halves that lie 8, 4, 2 and 1 apart change places.
    typedef float V __attribute__((vector_size(64)));
    typedef int32_t M __attribute__((vector_size(64)));
    for (; done + 16 <= count; done += 16) {
      for (int64_t f0 = 0; f0 < fields; f0 += 16) {
        V v[16];
        for (int64_t k = 0; k < 16; ++k) {
          v[k] = f0 + k < fields ? Load(x + (f0 + k) * width + done) : (V){};
        }
        const auto swap = [&](int apart, M low, M high) __attribute__((always_inline)) {
#pragma GCC unroll 16
          for (int k = 0; k < 16; ++k) {
            if (k & apart) continue;
            const V a = v[k], b = v[k + apart];
            v[k] = __builtin_shuffle(a, b, low);
            v[k + apart] = __builtin_shuffle(a, b, high);
          }
        };
        swap(8, (M){0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23},
             (M){8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31});
        swap(4, (M){0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27},
             (M){4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31});
        swap(2, (M){0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29},
             (M){2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31});
        swap(1, (M){0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30},
             (M){1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31});
        for (int64_t k = 0; k < 16; ++k) Store<T>(v[k], turned + (done + k) * pitch + f0);
      }
    }
  }
#endif
  for (int64_t f = 0; f < fields; ++f) {
    for (int64_t i = done; i < count; ++i) turned[i * pitch + f] = x[f * width + i];
  }
  for (int64_t i = done; i < count; ++i) {
    for (int64_t f = fields; f < pitch; ++f) turned[i * pitch + f] = 0;
  }
}

template <class T>
void Dots(const T* x, T* y, int64_t rows, int64_t fields, int64_t width, bool with_self) {
  constexpr int64_t L = Vector<T>::kLanes;
  const int64_t self = with_self ? 1 : 0;
  const int64_t pitch = (fields + L - 1) / L * L;
  const int64_t pairs = fields * (fields - 1 + 2 * self) / 2;
  const int64_t piece = kTurned / pitch < 1 ? 1 : kTurned / pitch;
  const T* y_end = y + rows * pairs;
  alignas(64) T turned[kTurned];
  if (width == 0) {
    for (int64_t k = 0; k < rows * pairs; ++k) y[k] = 0;
    return;
  }
  for (int64_t r = 0; r < rows; ++r, x += fields * width, y += pairs) {
    for (int64_t begin = 0; begin < width; begin += piece) {
      const int64_t count = width - begin < piece ? width - begin : piece;
      Turn(x + begin, width, count, fields, pitch, turned);
      for (int64_t g0 = 0; g0 < fields; g0 += L) {
        for (int64_t f0 = g0 / kBlock * kBlock; f0 < fields; f0 += kBlock) {
          DotBlock(x + begin, width, turned, pitch, count, f0, g0, fields, self, begin > 0, y,
                   y_end);
        }
      }
    }
  }
}

// dx[f] = sum over g of s[f, g] x[g], where s is dy as a symmetric matrix.
template <class T>
void DotsGrad(const T* x, const T* dy, T* dx, int64_t rows, int64_t fields, int64_t width,
              bool with_self) {
  using V = typename Vector<T>::V;
  constexpr int64_t L = Vector<T>::kLanes;
  const int64_t self = with_self ? 1 : 0;
  const int64_t pairs = fields * (fields - 1 + 2 * self) / 2;
  const auto before = [self](int64_t f) { return f * (f - 1 + 2 * self) / 2; };
  const T* end = x + rows * fields * width;
  const T* dx_end = dx + rows * fields * width;
  T s[kMostFields];
  for (int64_t r = 0; r < rows; ++r, x += fields * width, dx += fields * width, dy += pairs) {
    for (int64_t f = 0; f < fields; ++f) {
      for (int64_t g = 0; g < f; ++g) s[g] = dy[before(f) + g];
      s[f] = self ? 2 * dy[before(f) + f] : T(0);
      for (int64_t g = f + 1; g < fields; ++g) s[g] = dy[before(g) + f];
      T* to = dx + f * width;
      int64_t i = 0;
      for (; i + 4 * L <= width; i += 4 * L) {
        V sums[4] = {};
        for (int64_t g = 0; g < fields; ++g) {
#pragma GCC unroll 4
          for (int64_t k = 0; k < 4; ++k) sums[k] += Load(x + g * width + i + k * L) * s[g];
        }
        for (int64_t k = 0; k < 4; ++k) Store<T>(sums[k], to + i + k * L);
      }
      for (; i + L <= width; i += L) {
        V sum = {};
        for (int64_t g = 0; g < fields; ++g) sum += Load(x + g * width + i) * s[g];
        Store<T>(sum, to + i);
      }
      if (i == width) continue;
      V sum = {};
      for (int64_t g = 0; g < fields; ++g) {
        V v;
        LoadFirst(x + g * width + i, width - i, end, &v);
        sum += v * s[g];
      }
      StoreFirst<T>(sum, width - i, to + i, dx_end);
    }
  }
}

template <class T>
void Cross(const T* x0, const T* x, const T* w, const T* b, T* y, int64_t rows, int64_t width) {
  using V = typename Vector<T>::V;
  constexpr int64_t L = Vector<T>::kLanes;
  for (int64_t r = 0; r < rows; ++r, x0 += width, x += width, y += width) {
    V sums[2] = {};
    int64_t i = 0;
    for (; i + 2 * L <= width; i += 2 * L) {
      sums[0] += Load(x + i) * Load(w + i);
      sums[1] += Load(x + i + L) * Load(w + i + L);
    }
    T dot = AddLanes<T>(sums[0] + sums[1]);
    for (; i < width; ++i) dot += x[i] * w[i];
    for (i = 0; i + L <= width; i += L) {
      Store<T>(Load(x0 + i) * dot + Load(b + i) + Load(x + i), y + i);
    }
    for (; i < width; ++i) y[i] = x0[i] * dot + b[i] + x[i];
  }
}

}  // namespace

extern const InteractionTable kInteractions;
const InteractionTable kInteractions = {
    {Machine<float>, MachineGrad<float>, Dots<float>, DotsGrad<float>, Cross<float>},
    {Machine<double>, MachineGrad<double>, Dots<double>, DotsGrad<double>, Cross<double>},
};

}  // namespace catamaran::CATAMARAN_ISA

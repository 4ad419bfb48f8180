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

// Each field times the sum of those before it: nothing is subtracted, so nothing cancels.
template <class T>
void Machine(const T* x, T* y, int64_t rows, int64_t fields, int64_t width) {
  using V = typename Vector<T>::V;
  constexpr int64_t L = Vector<T>::kLanes;
  for (int64_t r = 0; r < rows; ++r, x += fields * width) {
    V total = {};
    int64_t i = 0;
    for (; i + L <= width; i += L) {
      V before = {};
      for (int64_t f = 0; f < fields; ++f) {
        const V v = Load(x + f * width + i);
        total += v * before;
        before += v;
      }
    }
    T rest = 0;
    for (; i < width; ++i) {
      T before = 0;
      for (int64_t f = 0; f < fields; ++f) {
        rest += x[f * width + i] * before;
        before += x[f * width + i];
      }
    }
    y[r] = AddLanes<T>(total) + rest;
  }
}

template <class T>
void MachineGrad(const T* x, const T* dy, T* dx, int64_t rows, int64_t fields, int64_t width) {
  using V = typename Vector<T>::V;
  constexpr int64_t L = Vector<T>::kLanes;
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
    for (; i < width; ++i) {
      T sum = 0;
      for (int64_t f = 0; f < fields; ++f) sum += x[f * width + i];
      for (int64_t f = 0; f < fields; ++f) dx[f * width + i] = (sum - x[f * width + i]) * g;
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
                     int64_t f0, int64_t g0, int64_t fields, int64_t self, bool add, T* y) {
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
    T lanes[L];
    __builtin_memcpy(lanes, &sums[k], sizeof(lanes));
    const int64_t have = f + self - g0;  // products with fields of smaller number (or its own)
    // Before field f stand f (f - 1) / 2 products, or f (f + 1) / 2.
    T* to = y + f * (f - 1 + 2 * self) / 2 + g0;
    for (int64_t g = 0; g < (have < L ? have : L); ++g) to[g] = add ? to[g] + lanes[g] : lanes[g];
  }
}

template <class T>
void Dots(const T* x, T* y, int64_t rows, int64_t fields, int64_t width, bool with_self) {
  constexpr int64_t L = Vector<T>::kLanes;
  const int64_t self = with_self ? 1 : 0;
  const int64_t pitch = (fields + L - 1) / L * L;
  const int64_t pairs = fields * (fields - 1 + 2 * self) / 2;
  const int64_t piece = kTurned / pitch < 1 ? 1 : kTurned / pitch;
  T turned[kTurned];
  if (width == 0) {
    for (int64_t k = 0; k < rows * pairs; ++k) y[k] = 0;
    return;
  }
  for (int64_t r = 0; r < rows; ++r, x += fields * width, y += pairs) {
    for (int64_t begin = 0; begin < width; begin += piece) {
      const int64_t count = width - begin < piece ? width - begin : piece;
      for (int64_t f = 0; f < fields; ++f) {
        const T* from = x + f * width + begin;
        for (int64_t i = 0; i < count; ++i) turned[i * pitch + f] = from[i];
      }
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t f = fields; f < pitch; ++f) turned[i * pitch + f] = 0;
      }
      for (int64_t g0 = 0; g0 < fields; g0 += L) {
        for (int64_t f0 = g0 / kBlock * kBlock; f0 < fields; f0 += kBlock) {
          DotBlock(x + begin, width, turned, pitch, count, f0, g0, fields, self, begin > 0, y);
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
      for (; i < width; ++i) {
        T sum = 0;
        for (int64_t g = 0; g < fields; ++g) sum += x[g * width + i] * s[g];
        to[i] = sum;
      }
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

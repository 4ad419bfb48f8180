#include "catamaran/ops/reduction/reduce_simd.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace catamaran::CATAMARAN_ISA {
namespace {

// Lanes that are summed apart: the same number for every instruction set.
constexpr int kLanes = 32;
// Terms of one lane before its float sum goes into a double.
constexpr int64_t kBlock = 16 * kLanes;

template <class T>
double Sum(const T* x, int64_t n) {
  double total = 0;
  int64_t i = 0;
  while (n - i >= kLanes) {
    const int64_t end = n - i > kBlock ? i + kBlock : n;
    T lanes[kLanes] = {};
    for (; end - i >= kLanes; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    total += static_cast<double>(lanes[0]);
  }
  for (; i < n; ++i) total += static_cast<double>(x[i]);
  return total;
}

constexpr int64_t kColumns = 256;
constexpr int64_t kRowBlock = 32;

template <class T>
void SumRows(const T* x, T* y, int64_t rows, int64_t width, int64_t begin, int64_t end,
             double divisor) {
  double total[kColumns];
  T part[kColumns];
  for (int64_t c = begin; c < end; c += kColumns) {
    const int64_t n = end - c < kColumns ? end - c : kColumns;
    for (int64_t k = 0; k < n; ++k) total[k] = 0;
    for (int64_t r = 0; r < rows; r += kRowBlock) {
      const int64_t last = rows - r < kRowBlock ? rows : r + kRowBlock;
      for (int64_t k = 0; k < n; ++k) part[k] = 0;
      for (int64_t row = r; row < last; ++row) {
        const T* at = x + row * width + c;
        for (int64_t k = 0; k < n; ++k) part[k] += at[k];
      }
      for (int64_t k = 0; k < n; ++k) total[k] += static_cast<double>(part[k]);
    }
    for (int64_t k = 0; k < n; ++k) y[c + k] = static_cast<T>(total[k] / divisor);
  }
}

template <class T>
inline T Larger(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}

template <class T>
T Max(const T* x, int64_t n) {
  T most = x[0];
  int64_t i = 0;
  if (n >= kLanes) {
    T lanes[kLanes];
    for (int k = 0; k < kLanes; ++k) lanes[k] = x[k];
    for (i = kLanes; n - i >= kLanes; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) lanes[k] = Larger(x[i + k], lanes[k]);
    }
    for (int k = 0; k < kLanes; ++k) most = Larger(lanes[k], most);
  }
  for (; i < n; ++i) most = Larger(x[i], most);
  return most;
}

template <class T>
void MaxRows(const T* x, T* y, int64_t rows, int64_t width, int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; ++c) y[c] = x[c];
  for (int64_t r = 1; r < rows; ++r) {
    const T* at = x + r * width;
#pragma GCC ivdep
    for (int64_t c = begin; c < end; ++c) y[c] = Larger(at[c], y[c]);
  }
}

// x - x is 0 for finite numbers and NaN for all others.
template <class T>
bool AllFinite(const T* x, int64_t n) {
  constexpr int64_t kPiece = 1024;  // a piece that says no ends the search
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t end = n - i < kPiece ? n : i + kPiece;
    unsigned bad = 0;
    for (int64_t k = i; k < end; ++k) bad |= !(x[k] - x[k] == 0);
    if (bad) return false;
  }
  return true;
}

}  // namespace

extern const ReduceFunctions kReduceFunctions;
const ReduceFunctions kReduceFunctions = {
    Sum<float>,  Sum<double>,    SumRows<float>,  SumRows<double>,  Max<float>,
    Max<double>, MaxRows<float>, MaxRows<double>, AllFinite<float>, AllFinite<double>,
};

}  // namespace catamaran::CATAMARAN_ISA

// ops/shape/pad_reference.h
//
// The references of pad and pad_grad: where each element of a padded tensor comes from.

#pragma once

#include <cstdint>

// reference-begin
namespace catamaran::reference {

struct PadSizes {
  int64_t rank;
  int64_t mode;       // 0 constant, 1 reflect, 2 edge, 3 wrap
  int64_t dims[8];    // without the border
  int64_t before[8];  // of each axis
  int64_t after[8];
  double value;  // of a constant border
};

// The entry that stands at place i, counted from the first one behind the border, of an axis of n;
// -1 for the constant.
inline int64_t PadSource(int64_t i, int64_t n, int64_t mode) {
  if (i >= 0 && i < n) return i;
  if (mode == 0) return -1;
  if (mode == 2) return i < 0 ? 0 : n - 1;
  const int64_t period = mode == 3 ? n : n > 1 ? 2 * (n - 1) : 1;
  const int64_t at = (i % period + period) % period;
  return at < n ? at : period - at;
}

// The element of the inner tensor that stands at element i of the padded one, or -1.
inline int64_t PadPosition(int64_t i, const PadSizes& s) {
  int64_t at = 0, stride = 1;
  bool inside = true;
  for (int64_t a = s.rank - 1; a >= 0; --a) {
    const int64_t whole = s.dims[a] + s.before[a] + s.after[a];
    const int64_t from = PadSource(i % whole - s.before[a], s.dims[a], s.mode);
    inside = inside && from >= 0;
    at += from * stride;
    stride *= s.dims[a];
    i /= whole;
  }
  return inside ? at : -1;
}

inline int64_t PaddedCount(const PadSizes& s) {
  int64_t count = 1;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.dims[a] + s.before[a] + s.after[a];
  return count;
}

template <class T>
void Pad(const T* x, T* y, const PadSizes& s) {
  const int64_t count = PaddedCount(s);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = PadPosition(i, s);
    y[i] = at < 0 ? static_cast<T>(s.value) : x[at];
  }
}

template <class T, class L>
void PadGrad(const T* g, const L*, T* dx, const PadSizes& s) {
  int64_t inner = 1;
  for (int64_t a = 0; a < s.rank; ++a) inner *= s.dims[a];
  for (int64_t i = 0; i < inner; ++i) dx[i] = T(0);
  const int64_t count = PaddedCount(s);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = PadPosition(i, s);
    if (at >= 0) dx[at] += g[i];
  }
}

}  // namespace catamaran::reference
// reference-end

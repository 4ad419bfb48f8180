// ops/convolution/interpolate_reference.h
//
// The references of interpolate and its gradient.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

// x is [planes, in…], y is [planes, out…], with three spatial axes; fewer begin with ones.
struct InterpolateSizes {
  int64_t planes;
  int64_t in[3], out[3];
  int64_t linear, align_corners;
  double step[3];  // elements of x for one element of y
};

// Where an element of y comes from along one axis: x[low] * (1 - weight) + x[high] * weight.
struct InterpolateSource {
  int64_t low, high;
  double weight;
};

inline InterpolateSource InterpolateSourceOf(const InterpolateSizes& s, int64_t axis,
                                             int64_t place) {
  const int64_t last = s.in[axis] - 1;
  if (!s.linear) {
    // Equal and doubled sizes go by whole elements, unless a scale only rounds to them; others in
    // single precision, as is common, so that equal sizes give equal places everywhere.
    if (s.out[axis] == s.in[axis] && s.step[axis] == 1) return {place, place, 0.0};
    if (s.out[axis] == 2 * s.in[axis] && s.step[axis] == 0.5) return {place / 2, place / 2, 0.0};
    const float at = static_cast<float>(place) * static_cast<float>(s.step[axis]);
    const int64_t low = std::min(static_cast<int64_t>(std::floor(at)), last);
    return {low, low, 0.0};
  }
  const double at = s.align_corners
                        ? static_cast<double>(place) * s.step[axis]
                        : std::max(0.0, (static_cast<double>(place) + 0.5) * s.step[axis] - 0.5);
  const int64_t low = std::min(static_cast<int64_t>(at), last);
  const double weight = std::min(std::max(at - static_cast<double>(low), 0.0), 1.0);
  return {low, std::min(low + 1, last), weight};
}

// Calls term(x index, y index, weight) for every product.
template <class F>
void InterpolateTerms(const InterpolateSizes& s, F term) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  int64_t k = 0;
  for (int64_t n = 0; n < s.planes; ++n) {
    for (int64_t p = 0; p < s.out[0]; ++p) {
      const InterpolateSource a = InterpolateSourceOf(s, 0, p);
      for (int64_t q = 0; q < s.out[1]; ++q) {
        const InterpolateSource b = InterpolateSourceOf(s, 1, q);
        for (int64_t r = 0; r < s.out[2]; ++r, ++k) {
          const InterpolateSource c = InterpolateSourceOf(s, 2, r);
          for (int64_t corner = 0; corner < (s.linear ? 8 : 1); ++corner) {
            const int64_t i = corner & 4 ? a.high : a.low;
            const int64_t j = corner & 2 ? b.high : b.low;
            const int64_t m = corner & 1 ? c.high : c.low;
            const double weight = (corner & 4 ? a.weight : 1 - a.weight) *
                                  (corner & 2 ? b.weight : 1 - b.weight) *
                                  (corner & 1 ? c.weight : 1 - c.weight);
            if (weight != 0) term(n * plane + (i * s.in[1] + j) * s.in[2] + m, k, weight);
          }
        }
      }
    }
  }
}

template <class T>
void Interpolate(const T* x, T* y, const InterpolateSizes& s) {
  std::fill_n(y, s.planes * s.out[0] * s.out[1] * s.out[2], T(0));
  InterpolateTerms(s, [&](int64_t i, int64_t k, double w) { y[k] += x[i] * static_cast<T>(w); });
}

template <class T>
void InterpolateGrad(const T* dy, T* dx, const InterpolateSizes& s) {
  std::fill_n(dx, s.planes * s.in[0] * s.in[1] * s.in[2], T(0));
  InterpolateTerms(s, [&](int64_t i, int64_t k, double w) { dx[i] += dy[k] * static_cast<T>(w); });
}

}  // namespace catamaran::reference
// reference-end

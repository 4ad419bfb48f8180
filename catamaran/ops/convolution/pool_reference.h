// ops/convolution/pool_reference.h
//
// The references of pooling: the largest or the mean of each window, and the gradients. Windows
// slide by steps, or (adaptive) divide the axis into as many parts as there are results.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

// x is [planes, in…], y is [planes, out…], with three spatial axes; fewer begin with ones.
struct PoolSizes {
  int64_t planes;
  int64_t in[3], out[3], kernel[3], stride[3], begin[3], end[3], dilation[3];
  int64_t adaptive;   // kernel, stride, padding and dilation mean nothing
  int64_t count_pad;  // means divide by the elements of the padding too
};

// The elements first, first + step, … below last of a window along one axis, and how many the mean
// divides by.
struct PoolSpan {
  int64_t first, last, step, divisor;
};

inline PoolSpan PoolSpanOf(const PoolSizes& s, int64_t axis, int64_t place) {
  const int64_t in = s.in[axis], out = s.out[axis];
  if (s.adaptive) {
    const int64_t first = place * in / out, last = ((place + 1) * in + out - 1) / out;
    return {first, last, 1, last - first};
  }
  const int64_t step = s.dilation[axis];
  const int64_t start = place * s.stride[axis] - s.begin[axis];
  const int64_t stop = start + (s.kernel[axis] - 1) * step + 1;
  const int64_t first = start >= 0 ? start : start + (-start + step - 1) / step * step;
  const int64_t last = std::min(stop, in);
  const int64_t inside = last > first ? (last - first + step - 1) / step : 0;
  const int64_t padded = (std::min(stop, in + s.end[axis]) - start + step - 1) / step;
  return {first, last, step, s.count_pad ? padded : inside};
}

// Calls visit(index of y, span, span, span) for each place of one plane.
template <class F>
void PoolPlaces(const PoolSizes& s, F visit) {
  int64_t k = 0;
  for (int64_t p = 0; p < s.out[0]; ++p) {
    const PoolSpan a = PoolSpanOf(s, 0, p);
    for (int64_t q = 0; q < s.out[1]; ++q) {
      const PoolSpan b = PoolSpanOf(s, 1, q);
      for (int64_t r = 0; r < s.out[2]; ++r) visit(k++, a, b, PoolSpanOf(s, 2, r));
    }
  }
}

// Calls visit(index in the plane of x) for each element of a window.
template <class F>
void PoolElements(const PoolSizes& s, const PoolSpan& a, const PoolSpan& b, const PoolSpan& c,
                  F visit) {
  for (int64_t i = a.first; i < a.last; i += a.step) {
    for (int64_t j = b.first; j < b.last; j += b.step) {
      for (int64_t k = c.first; k < c.last; k += c.step) visit((i * s.in[1] + j) * s.in[2] + k);
    }
  }
}

// Calls visit(index of y, index of x) with the first of the largest elements of each window (the
// last NaN where there is one); -1 where the window holds nothing but padding.
template <class T, class F>
void PoolLargest(const T* x, const PoolSizes& s, F visit) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  for (int64_t n = 0; n < s.planes; ++n) {
    PoolPlaces(s, [&](int64_t k, const PoolSpan& a, const PoolSpan& b, const PoolSpan& c) {
      int64_t best = -1;
      PoolElements(s, a, b, c, [&](int64_t i) {
        i += n * plane;
        if (best < 0 || x[i] > x[best] || x[i] != x[i]) best = i;
      });
      visit(n * places + k, best);
    });
  }
}

template <class T>
void MaxPool(const T* x, T* y, const PoolSizes& s) {
  PoolLargest(x, s, [&](int64_t k, int64_t i) { y[k] = i < 0 ? T(-HUGE_VAL) : x[i]; });
}

template <class T>
void MaxPoolGrad(const T* x, const T* dy, T* dx, const PoolSizes& s) {
  std::fill_n(dx, s.planes * s.in[0] * s.in[1] * s.in[2], T(0));
  PoolLargest(x, s, [&](int64_t k, int64_t i) {
    if (i >= 0) dx[i] += dy[k];
  });
}

// The elements of u where those of x are largest.
template <class T>
void MaxPoolPick(const T* x, const T* u, T* y, const PoolSizes& s) {
  PoolLargest(x, s, [&](int64_t k, int64_t i) { y[k] = i < 0 ? T(0) : u[i]; });
}

template <class T>
void AvgPool(const T* x, T* y, const PoolSizes& s) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  for (int64_t n = 0; n < s.planes; ++n, x += plane, y += places) {
    PoolPlaces(s, [&](int64_t k, const PoolSpan& a, const PoolSpan& b, const PoolSpan& c) {
      double sum = 0;
      PoolElements(s, a, b, c, [&](int64_t i) { sum += static_cast<double>(x[i]); });
      const int64_t divisor = a.divisor * b.divisor * c.divisor;
      y[k] = divisor == 0 ? T(0) : static_cast<T>(sum / static_cast<double>(divisor));
    });
  }
}

template <class T>
void AvgPoolGrad(const T* dy, T* dx, const PoolSizes& s) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  std::fill_n(dx, s.planes * plane, T(0));
  for (int64_t n = 0; n < s.planes; ++n, dx += plane, dy += places) {
    PoolPlaces(s, [&](int64_t k, const PoolSpan& a, const PoolSpan& b, const PoolSpan& c) {
      const T share = dy[k] / static_cast<T>(a.divisor * b.divisor * c.divisor);
      PoolElements(s, a, b, c, [&](int64_t i) { dx[i] += share; });
    });
  }
}

}  // namespace catamaran::reference
// reference-end

#include "catamaran/ops/convolution/interpolate_simd.h"

#include <cstddef>

namespace catamaran::CATAMARAN_ISA {
namespace {

// One row of x stretched to the width of y.
template <class T>
inline void Stretch(const T* x, T* __restrict y, const InterpolateAxis<T>& axis) {
  const int32_t* __restrict low = axis.low;
  const int32_t* __restrict high = axis.high;
  const T* __restrict w0 = axis.low_weight;
  const T* __restrict w1 = axis.high_weight;
  for (int64_t r = 0; r < axis.out; ++r) y[r] = x[low[r]] * w0[r] + x[high[r]] * w1[r];
}

// Rows are stretched once, when a row of y first needs them, and kept while the next ones do; then
// each row of y is a sum of two or four stretched rows.
template <class T>
void Linear(const T* x, T* y, const InterpolateAxis<T>* axes, T* buffer, int64_t planes) {
  const InterpolateAxis<T>&depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t plane = depth.in * height.in * width.in, out = width.out;
  const int corners = depth.in > 1 ? 4 : 2;
  for (int64_t n = 0; n < planes; ++n, x += plane) {
    int64_t held[4] = {-1, -1, -1, -1};
    for (int64_t p = 0; p < depth.out; ++p) {
      for (int64_t q = 0; q < height.out; ++q, y += out) {
        int64_t rows[4];
        T weights[4];
        const T* stretched[4];
        for (int k = 0; k < corners; ++k) {
          const int64_t i = k & 2 ? depth.high[p] : depth.low[p];
          const int64_t j = k & 1 ? height.high[q] : height.low[q];
          rows[k] = i * height.in + j;
          weights[k] = (k & 1 ? height.high_weight[q] : height.low_weight[q]) *
                       (corners == 2 ? T(1)
                        : k & 2      ? depth.high_weight[p]
                                     : depth.low_weight[p]);
        }
        for (int k = 0; k < corners; ++k) {
          int slot = -1;
          for (int h = 0; h < corners; ++h) slot = held[h] == rows[k] ? h : slot;
          if (slot < 0) {
            // One that none of the rows needs.
            for (int h = 0; h < corners && slot < 0; ++h) {
              bool needed = false;
              for (int m = 0; m < corners; ++m) needed |= held[h] == rows[m];
              if (!needed) slot = h;
            }
            Stretch(x + rows[k] * width.in, buffer + slot * out, width);
            held[slot] = rows[k];
          }
          stretched[k] = buffer + slot * out;
        }
        const T* __restrict s0 = stretched[0], * __restrict s1 = stretched[1];
        const T w0 = weights[0], w1 = weights[1];
        if (corners == 2) {
          for (int64_t r = 0; r < out; ++r) y[r] = s0[r] * w0 + s1[r] * w1;
        } else {
          const T* __restrict s2 = stretched[2], * __restrict s3 = stretched[3];
          const T w2 = weights[2], w3 = weights[3];
          for (int64_t r = 0; r < out; ++r) {
            y[r] = (s0[r] * w0 + s1[r] * w1) + (s2[r] * w2 + s3[r] * w3);
          }
        }
      }
    }
  }
}

template <class T>
void Nearest(const T* x, T* y, const InterpolateAxis<T>* axes, int64_t planes) {
  const InterpolateAxis<T>&depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t plane = depth.in * height.in * width.in, out = width.out;
  const int32_t* __restrict low = width.low;
  for (int64_t n = 0; n < planes; ++n, x += plane) {
    int64_t before = -1;
    for (int64_t p = 0; p < depth.out; ++p) {
      for (int64_t q = 0; q < height.out; ++q, y += out) {
        const int64_t row = depth.low[p] * height.in + height.low[q];
        const T* from = x + row * width.in;
        if (row == before) {
          __builtin_memcpy(y, y - out, static_cast<std::size_t>(out) * sizeof(T));
        } else if (width.doubled) {
          for (int64_t r = 0; r < width.in; ++r) y[2 * r] = y[2 * r + 1] = from[r];
        } else {
          for (int64_t r = 0; r < out; ++r) y[r] = from[low[r]];
        }
        before = row;
      }
    }
  }
}

template <class T>
void LinearGrad(const T* dy, T* dx, const InterpolateAxis<T>* axes, T* buffer, int64_t planes) {
  const InterpolateAxis<T>&depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t plane = depth.in * height.in * width.in, in = width.in;
  const int corners = depth.in > 1 ? 4 : 2;
  for (int64_t n = 0; n < planes; ++n, dx += plane) {
    for (int64_t i = 0; i < plane; ++i) dx[i] = 0;
    for (int64_t p = 0; p < depth.out; ++p) {
      for (int64_t q = 0; q < height.out; ++q, dy += width.out) {
        for (int64_t i = 0; i < in; ++i) buffer[i] = 0;
        for (int64_t r = 0; r < width.out; ++r) {
          buffer[width.low[r]] += dy[r] * width.low_weight[r];
          buffer[width.high[r]] += dy[r] * width.high_weight[r];
        }
        for (int k = 0; k < corners; ++k) {
          const int64_t i = k & 2 ? depth.high[p] : depth.low[p];
          const int64_t j = k & 1 ? height.high[q] : height.low[q];
          const T weight = (k & 1 ? height.high_weight[q] : height.low_weight[q]) *
                           (corners == 2 ? T(1)
                            : k & 2      ? depth.high_weight[p]
                                         : depth.low_weight[p]);
          T* __restrict row = dx + (i * height.in + j) * in;
          for (int64_t w = 0; w < in; ++w) row[w] += buffer[w] * weight;
        }
      }
    }
  }
}

template <class T>
void NearestGrad(const T* dy, T* dx, const InterpolateAxis<T>* axes, int64_t planes) {
  const InterpolateAxis<T>&depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t plane = depth.in * height.in * width.in;
  for (int64_t n = 0; n < planes; ++n, dx += plane) {
    for (int64_t i = 0; i < plane; ++i) dx[i] = 0;
    for (int64_t p = 0; p < depth.out; ++p) {
      for (int64_t q = 0; q < height.out; ++q, dy += width.out) {
        T* __restrict row = dx + (depth.low[p] * height.in + height.low[q]) * width.in;
        if (width.doubled) {
          for (int64_t r = 0; r < width.in; ++r) row[r] += dy[2 * r] + dy[2 * r + 1];
        } else {
          for (int64_t r = 0; r < width.out; ++r) row[width.low[r]] += dy[r];
        }
      }
    }
  }
}

template <class T>
constexpr InterpolateFunctions<T> FunctionsOf() {
  return {Linear<T>, Nearest<T>, LinearGrad<T>, NearestGrad<T>};
}

}  // namespace

const InterpolateTable& GetInterpolateTable() {
  static constexpr InterpolateTable table = {FunctionsOf<float>(), FunctionsOf<double>()};
  return table;
}

}  // namespace catamaran::CATAMARAN_ISA

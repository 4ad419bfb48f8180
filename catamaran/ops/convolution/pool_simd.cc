#include "catamaran/ops/convolution/pool_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

using reference::PoolSizes;

constexpr int64_t kLine = 2 * kPoolSpanLimit;  // elements of a row that are worked on at a time
constexpr int64_t kLanes = 16;

inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t Most(int64_t a, int64_t b) { return a > b ? a : b; }

// As PoolSpanOf of the reference, without the divisor.
struct Span {
  int64_t first, last, step;
};
inline Span SpanOf(const PoolSizes& s, int axis, int64_t place) {
  const int64_t in = s.in[axis], out = s.out[axis];
  if (s.adaptive) return {place * in / out, ((place + 1) * in + out - 1) / out, 1};
  const int64_t step = s.dilation[axis];
  const int64_t start = place * s.stride[axis] - s.begin[axis];
  const int64_t stop = start + (s.kernel[axis] - 1) * step + 1;
  return {start >= 0 ? start : start + (-start + step - 1) / step * step, Least(stop, in), step};
}
inline int64_t DivisorOf(const PoolSizes& s, int axis, int64_t place) {
  const Span span = SpanOf(s, axis, place);
  const int64_t start = place * s.stride[axis] - s.begin[axis];
  if (s.adaptive || !s.count_pad) {
    return span.last > span.first ? (span.last - span.first + span.step - 1) / span.step : 0;
  }
  const int64_t stop =
      Least(start + (s.kernel[axis] - 1) * span.step + 1, s.in[axis] + s.end[axis]);
  return (stop - start + span.step - 1) / span.step;
}

// How two elements become one; the element that changes nothing.
template <class T>
struct Largest {
  static T Join(T m, T v) { return (v > m || v != v) ? v : m; }
  static constexpr T kNothing = -__builtin_inf();
};
template <class T>
struct Total {
  static T Join(T m, T v) { return m + v; }
  static constexpr T kNothing = 0;
};

template <class Op, class T>
inline T JoinRun(T m, const T* x, int64_t n) {
  if (n < kLanes) {
    for (int64_t i = 0; i < n; ++i) m = Op::Join(m, x[i]);
    return m;
  }
  T lanes[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) lanes[k] = x[k];
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Op::Join(lanes[k], x[i + k]);
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] = Op::Join(lanes[k], x[i + k]);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] = Op::Join(lanes[k], lanes[k + half]);
  }
  return Op::Join(m, lanes[0]);
}

// One place after another, each window by rows: for windows that divide the axes.
template <class Op, class T, class F>
void ByWindow(const T* x, T* y, const PoolSizes& s, int64_t planes, F finish) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t n = 0; n < planes; ++n, x += plane) {
    for (int64_t p = 0; p < s.out[0]; ++p) {
      const Span a = SpanOf(s, 0, p);
      for (int64_t q = 0; q < s.out[1]; ++q) {
        const Span b = SpanOf(s, 1, q);
        for (int64_t r = 0; r < s.out[2]; ++r) {
          const Span c = SpanOf(s, 2, r);
          T m = Op::kNothing;
          const bool whole_rows = c.first == 0 && c.last == s.in[2];
          for (int64_t i = a.first; i < a.last; ++i) {
            const T* row = x + (i * s.in[1] + b.first) * s.in[2] + c.first;
            if (whole_rows) {
              m = JoinRun<Op>(m, row, (b.last - b.first) * s.in[2]);
              continue;
            }
            for (int64_t j = b.first; j < b.last; ++j, row += s.in[2]) {
              m = JoinRun<Op>(m, row, c.last - c.first);
            }
          }
          *y++ = finish(m, (a.last - a.first) * (b.last - b.first) * (c.last - c.first));
        }
      }
    }
  }
}

// y[r] = all of line[r * stride + k * dilation], k < kernel. kStride or kKernel 0: not known here.
template <class Op, int kStride, int kKernel, class T>
inline void JoinAcross(const T* __restrict line, T* __restrict y, int64_t count, int64_t stride,
                       int64_t kernel, int64_t dilation) {
  if (kStride != 0) stride = kStride;
  if (kKernel != 0) {
    for (int64_t r = 0; r < count; ++r) {
      T m = line[r * stride];
      for (int64_t k = 1; k < kKernel; ++k) m = Op::Join(m, line[r * stride + k * dilation]);
      y[r] = m;
    }
    return;
  }
  for (int64_t r = 0; r < count; ++r) y[r] = line[r * stride];
  for (int64_t k = 1; k < kernel; ++k) {
    const T* at = line + k * dilation;
    for (int64_t r = 0; r < count; ++r) y[r] = Op::Join(y[r], at[r * stride]);
  }
}

template <class Op, int kStride, class T>
inline void JoinAcrossBy(const T* line, T* y, int64_t count, int64_t stride, int64_t kernel,
                         int64_t dilation) {
  if (kernel == 2 && dilation == 1) {
    JoinAcross<Op, kStride, 2>(line, y, count, stride, kernel, 1);
  } else if (kernel == 3 && dilation == 1) {
    JoinAcross<Op, kStride, 3>(line, y, count, stride, kernel, 1);
  } else {
    JoinAcross<Op, kStride, 0>(line, y, count, stride, kernel, dilation);
  }
}

// The elements [from, from + width) of one row of windows joined over the rows of the window.
// `line` gets them, padding included; returns where they are, in `line` or in x itself.
template <class Op, class T>
inline const T* JoinDown(const T* x, T* __restrict line, const PoolSizes& s, const Span& a,
                         const Span& b, int64_t from, int64_t width) {
  const int64_t low = Most(from, 0), high = Most(Least(from + width, s.in[2]), low);
  bool first = true;
  if (a.first + a.step >= a.last && b.first + b.step >= b.last && a.first < a.last &&
      b.first < b.last && from >= 0 && from + width <= s.in[2]) {
    return x + (a.first * s.in[1] + b.first) * s.in[2] + from;  // one row, no padding
  }
  for (int64_t w = from; w < low; ++w) line[w - from] = Op::kNothing;
  for (int64_t w = high; w < from + width; ++w) line[w - from] = Op::kNothing;
  T* __restrict to = line + (low - from);
  const int64_t count = high - low;
  const int64_t step = b.step * s.in[2];
  for (int64_t i = a.first; i < a.last; i += a.step) {
    const int64_t rows = b.last > b.first ? (b.last - b.first + b.step - 1) / b.step : 0;
    const T* row = x + (i * s.in[1] + b.first) * s.in[2] + low;
    int64_t j = 0;
    // Two or three rows at once where nothing has been written yet.
    if (first && rows >= 3) {
      const T* __restrict r0 = row;
      const T* __restrict r1 = row + step;
      const T* __restrict r2 = row + 2 * step;
      for (int64_t w = 0; w < count; ++w) to[w] = Op::Join(Op::Join(r0[w], r1[w]), r2[w]);
      j = 3;
      first = false;
    } else if (first && rows >= 2) {
      const T* __restrict r0 = row;
      const T* __restrict r1 = row + step;
      for (int64_t w = 0; w < count; ++w) to[w] = Op::Join(r0[w], r1[w]);
      j = 2;
      first = false;
    } else if (first && rows >= 1) {
      for (int64_t w = 0; w < count; ++w) to[w] = row[w];
      j = 1;
      first = false;
    }
    for (; j < rows; ++j) {
      const T* __restrict r0 = row + j * step;
      for (int64_t w = 0; w < count; ++w) to[w] = Op::Join(to[w], r0[w]);
    }
  }
  if (first) {
    for (int64_t w = 0; w < count; ++w) to[w] = Op::kNothing;
  }
  return line;
}

// Row after row of y: the rows of the windows joined first, then across. finish(y, row's place on
// axes 0 and 1, first column, count) completes a part of a row.
template <class Op, class T, class F>
void ByRow(const T* x, T* y, const PoolSizes& s, int64_t planes, F finish) {
  T line[kLine];
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  const int64_t extent = (s.kernel[2] - 1) * s.dilation[2] + 1, stride = s.stride[2];
  // A stride beyond the line leaves one place at a time.
  const int64_t at_a_time = (kLine - extent) / stride + 1;
  for (int64_t n = 0; n < planes; ++n, x += plane) {
    for (int64_t p = 0; p < s.out[0]; ++p) {
      const Span a = SpanOf(s, 0, p);
      for (int64_t q = 0; q < s.out[1]; ++q, y += s.out[2]) {
        const Span b = SpanOf(s, 1, q);
        for (int64_t r = 0; r < s.out[2]; r += at_a_time) {
          const int64_t count = Least(at_a_time, s.out[2] - r);
          const int64_t width = (count - 1) * stride + extent;
          const T* joined = JoinDown<Op>(x, line, s, a, b, r * stride - s.begin[2], width);
          if (stride == 1) {
            JoinAcrossBy<Op, 1>(joined, y + r, count, stride, s.kernel[2], s.dilation[2]);
          } else if (stride == 2) {
            JoinAcrossBy<Op, 2>(joined, y + r, count, stride, s.kernel[2], s.dilation[2]);
          } else {
            JoinAcrossBy<Op, 0>(joined, y + r, count, stride, s.kernel[2], s.dilation[2]);
          }
          finish(y + r, p, q, r, count);
        }
      }
    }
  }
}

template <class T>
void MaxPool(const T* x, T* y, const PoolSizes& s, int64_t planes) {
  if (s.adaptive) {
    ByWindow<Largest<T>>(x, y, s, planes, [](T m, int64_t) { return m; });
  } else {
    ByRow<Largest<T>>(x, y, s, planes, [](T*, int64_t, int64_t, int64_t, int64_t) {});
  }
}

// The columns whose windows lie within the row: their divisor is the same.
struct Middle {
  int64_t first, last;
};
inline Middle MiddleOf(const PoolSizes& s) {
  const int64_t extent = (s.kernel[2] - 1) * s.dilation[2] + 1, stride = s.stride[2];
  const int64_t first = Least((s.begin[2] + stride - 1) / stride, s.out[2]);
  const int64_t room = s.in[2] + s.begin[2] - extent;
  const int64_t last = room < 0 ? 0 : Least(room / stride + 1, s.out[2]);
  return {first, Most(last, first)};
}

// y[i] = from[i] / divisor of column r + i. `outer` is the divisor of the row.
template <class T>
inline void Share(const T* from, T* y, const PoolSizes& s, const Middle& middle, int64_t outer,
                  int64_t r, int64_t count) {
  const auto edge = [&](int64_t i) {
    const int64_t divisor = outer * DivisorOf(s, 2, r + i);
    y[i] = divisor == 0 ? T(0) : from[i] / static_cast<T>(divisor);
  };
  const int64_t begin = Least(Most(middle.first - r, 0), count);
  const int64_t end = Most(Least(middle.last - r, count), begin);
  for (int64_t i = 0; i < begin; ++i) edge(i);
  const T factor = T(1) / static_cast<T>(outer == 0 ? 1 : outer * s.kernel[2]);
  for (int64_t i = begin; i < end; ++i) y[i] = from[i] * factor;
  for (int64_t i = end; i < count; ++i) edge(i);
}

template <class T>
void AvgPool(const T* x, T* y, const PoolSizes& s, int64_t planes) {
  if (s.adaptive) {
    ByWindow<Total<T>>(x, y, s, planes, [](T m, int64_t n) { return m / static_cast<T>(n); });
    return;
  }
  const Middle middle = MiddleOf(s);
  ByRow<Total<T>>(x, y, s, planes, [&](T* part, int64_t p, int64_t q, int64_t r, int64_t count) {
    Share(part, part, s, middle, DivisorOf(s, 0, p) * DivisorOf(s, 1, q), r, count);
  });
}

// Which element of the plane is the largest of each window of a part of a row.
template <int kStride, class T>
inline void FindLargest(const T* x, T* __restrict best, int32_t* __restrict where,
                        const PoolSizes& s, const Span& a, const Span& b, int64_t r,
                        int64_t count) {
  const int64_t stride = kStride != 0 ? kStride : s.stride[2];
  for (int64_t i = 0; i < count; ++i) best[i] = -__builtin_inf();
  for (int64_t i = 0; i < count; ++i) where[i] = -1;
  for (int64_t i = a.first; i < a.last; i += a.step) {
    for (int64_t j = b.first; j < b.last; j += b.step) {
      const int64_t row = (i * s.in[1] + j) * s.in[2];
      for (int64_t k = 0; k < s.kernel[2]; ++k) {
        // The column of place r + i is d + i * stride.
        const int64_t d = r * stride - s.begin[2] + k * s.dilation[2];
        const int64_t low = d >= 0 ? 0 : Least((-d + stride - 1) / stride, count);
        const int64_t high = s.in[2] <= d ? 0 : Least((s.in[2] - d + stride - 1) / stride, count);
        const T* __restrict from = x + row + d;
        const int32_t at = static_cast<int32_t>(row + d);
        for (int32_t m = static_cast<int32_t>(low); m < static_cast<int32_t>(high); ++m) {
          const T v = from[m * stride];
          // The first one counts whatever it is.
          const bool take = (v > best[m]) | (v != v) | (where[m] < 0);
          best[m] = take ? v : best[m];
          where[m] = take ? at + m * static_cast<int32_t>(stride) : where[m];
        }
      }
    }
  }
}

template <class T>
void MaxPoolGrad(const T* x, const T* dy, T* dx, const PoolSizes& s, int64_t planes) {
  constexpr int64_t kPart = 1024;
  T best[kPart];
  int32_t where[kPart];
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t n = 0; n < planes; ++n, x += plane, dx += plane) {
    for (int64_t i = 0; i < plane; ++i) dx[i] = 0;
    for (int64_t p = 0; p < s.out[0]; ++p) {
      const Span a = SpanOf(s, 0, p);
      for (int64_t q = 0; q < s.out[1]; ++q, dy += s.out[2]) {
        const Span b = SpanOf(s, 1, q);
        for (int64_t r = 0; r < s.out[2]; r += kPart) {
          const int64_t count = Least(kPart, s.out[2] - r);
          if (s.stride[2] == 1) {
            FindLargest<1>(x, best, where, s, a, b, r, count);
          } else if (s.stride[2] == 2) {
            FindLargest<2>(x, best, where, s, a, b, r, count);
          } else {
            FindLargest<0>(x, best, where, s, a, b, r, count);
          }
          for (int64_t i = 0; i < count; ++i) {
            if (where[i] >= 0) dx[where[i]] += dy[r + i];
          }
        }
      }
    }
  }
}

// dy divided, spread across a line, and the line added to every row of the window.
template <class T>
void AvgPoolGrad(const T* dy, T* dx, const PoolSizes& s, int64_t planes) {
  T line[kLine], share[kLine];
  const Middle middle = MiddleOf(s);
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  const int64_t extent = (s.kernel[2] - 1) * s.dilation[2] + 1, stride = s.stride[2];
  const int64_t at_a_time = (kLine - extent) / stride + 1;
  for (int64_t n = 0; n < planes; ++n, dx += plane) {
    for (int64_t i = 0; i < plane; ++i) dx[i] = 0;
    for (int64_t p = 0; p < s.out[0]; ++p) {
      const Span a = SpanOf(s, 0, p);
      for (int64_t q = 0; q < s.out[1]; ++q, dy += s.out[2]) {
        const Span b = SpanOf(s, 1, q);
        const int64_t outer = DivisorOf(s, 0, p) * DivisorOf(s, 1, q);
        for (int64_t r = 0; r < s.out[2]; r += at_a_time) {
          const int64_t count = Least(at_a_time, s.out[2] - r);
          const int64_t width = (count - 1) * stride + extent;
          const int64_t from = r * stride - s.begin[2];
          Share(dy + r, share, s, middle, outer, r, count);
          for (int64_t w = 0; w < width; ++w) line[w] = 0;
          for (int64_t k = 0; k < s.kernel[2]; ++k) {
            T* at = line + k * s.dilation[2];
            if (stride == 1) {
              for (int64_t i = 0; i < count; ++i) at[i] += share[i];
            } else {
              for (int64_t i = 0; i < count; ++i) at[i * stride] += share[i];
            }
          }
          const int64_t low = Most(from, 0), high = Least(from + width, s.in[2]);
          for (int64_t i = a.first; i < a.last; i += a.step) {
            for (int64_t j = b.first; j < b.last; j += b.step) {
              T* __restrict row = dx + (i * s.in[1] + j) * s.in[2];
              for (int64_t w = low; w < high; ++w) row[w] += line[w - from];
            }
          }
        }
      }
    }
  }
}

template <class T>
constexpr PoolFunctions<T> FunctionsOf() {
  return {MaxPool<T>, MaxPoolGrad<T>, AvgPool<T>, AvgPoolGrad<T>};
}

}  // namespace

const PoolTable& GetPoolTable() {
  static constexpr PoolTable table = {FunctionsOf<float>(), FunctionsOf<double>()};
  return table;
}

}  // namespace catamaran::CATAMARAN_ISA

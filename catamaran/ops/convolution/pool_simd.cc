#include "catamaran/ops/convolution/pool_simd.h"

#include "catamaran/ops/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

using reference::PoolSizes;

constexpr int64_t kLine = 2 * kPoolSpanLimit;  // elements of a row that are worked on at a time

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

// How two elements, or vectors of them, become one; the element that changes nothing.
template <class T>
struct Largest {
  template <class V>
  static V Join(V m, V v) {
    return ((v > m) | (v != v)) ? v : m;
  }
  static constexpr T kNothing = -__builtin_inf();
};
template <class T>
struct Total {
  template <class V>
  static V Join(V m, V v) {
    return m + v;
  }
  static constexpr T kNothing = 0;
};

template <class Op, class T>
inline T JoinRun(T m, const T* x, int64_t n) {
  return Op::Join(m, Reduce<Op, T>(n, Op::kNothing, [x](auto e) { return e(x); }));
}

// One place after another, each window by rows: for windows that divide the axes.
template <class Op, class T, class F>
void ByWindow(const T* x, T* y, const PoolSizes& s, int64_t planes, F finish) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  if (s.out[0] * s.out[1] * s.out[2] == 1) {
    for (int64_t n = 0; n < planes; ++n, x += plane) {
      y[n] = finish(JoinRun<Op>(Op::kNothing, x, plane), plane);
    }
    return;
  }
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

// x[0], x[stride], …: a vector of them. kStride 0: not known here.
template <int kStride, class T>
inline Vector<T> LoadStrided(const T* x, int64_t stride) {
  const Vector<T> a = WholeVector<T>{0}(x);
  if constexpr (kStride == 1) return a;
  if constexpr (kStride == 2) {
    const Vector<T> b = WholeVector<T>{kWidth<T>}(x);
    if constexpr (kWidth<T> == 16) {
      return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                     30);
    } else if constexpr (kWidth<T> == 8) {
      return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    } else if constexpr (kWidth<T> == 4) {
      return __builtin_shufflevector(a, b, 0, 2, 4, 6);
    } else {
      return __builtin_shufflevector(a, b, 0, 2);
    }
  }
  T values[kWidth<T>];
  for (int64_t i = 0; i < kWidth<T>; ++i) values[i] = x[i * stride];
  return WholeVector<T>{0}(values);
}

// y[r] = all of line[r * stride + k * dilation], k < kernel. Reads up to two vectors beyond them.
template <class Op, int kStride, class T>
inline void JoinAcross(const T* line, T* y, int64_t count, int64_t kernel, int64_t dilation) {
  const auto joined = [=](int64_t i) {
    const T* at = line + i * kStride;
    Vector<T> m = LoadStrided<kStride>(at, kStride);
    for (int64_t k = 1; k < kernel; ++k) {
      m = Op::Join(m, LoadStrided<kStride>(at + k * dilation, kStride));
    }
    return m;
  };
  int64_t i = 0;
  for (; i + kWidth<T> <= count; i += kWidth<T>) WholeVector<T>{i}.Store(y, joined(i));
  if (i < count) PartVector<T>{i, count - i}.Store(y, joined(i));
}
// The same for any stride, one after another.
template <class Op, class T>
inline void JoinAcrossSteps(const T* line, T* y, int64_t count, int64_t stride, int64_t kernel,
                            int64_t dilation) {
  for (int64_t i = 0; i < count; ++i) {
    T m = line[i * stride];
    for (int64_t k = 1; k < kernel; ++k) m = Op::Join(m, line[i * stride + k * dilation]);
    y[i] = m;
  }
}

// The elements [from, from + width) of one row of windows, padding included, joined over the rows
// of the window into `line`.
template <class Op, class T>
inline void JoinDown(const T* x, T* line, const PoolSizes& s, const Span& a, const Span& b,
                     int64_t from, int64_t width) {
  const int64_t low = Most(from, 0), high = Most(Least(from + width, s.in[2]), low);
  for (int64_t w = from; w < low; ++w) line[w - from] = Op::kNothing;
  for (int64_t w = high; w < from + width; ++w) line[w - from] = Op::kNothing;
  T* to = line + (low - from);
  const int64_t count = high - low, step = b.step * s.in[2];
  const int64_t rows = b.last > b.first ? (b.last - b.first + b.step - 1) / b.step : 0;
  bool first = true;  // nothing has been written yet
  for (int64_t i = a.first; i < a.last && rows > 0; i += a.step) {
    const T* row = x + (i * s.in[1] + b.first) * s.in[2] + low;
    int64_t j = 0;
    if (first) {
      const T* second = row + (rows > 1 ? step : 0);
      const T* third = row + (rows > 2 ? 2 * step : 0);
      if (rows == 1) {
        ForEach<T>(count, [=](auto e) { e.Store(to, e(row)); });
      } else if (rows == 2) {
        ForEach<T>(count, [=](auto e) { e.Store(to, Op::Join(e(row), e(second))); });
      } else {
        ForEach<T>(count,
                   [=](auto e) { e.Store(to, Op::Join(Op::Join(e(row), e(second)), e(third))); });
      }
      j = rows < 3 ? rows : 3;
      first = false;
    }
    for (; j < rows; ++j) {
      const T* next = row + j * step;
      ForEach<T>(count, [=](auto e) { e.Store(to, Op::Join(e(to), e(next))); });
    }
  }
  if (first) {
    for (int64_t w = 0; w < count; ++w) to[w] = Op::kNothing;
  }
}

// Row after row of y: the rows of the windows joined first, then across. finish(y, row's place on
// axes 0 and 1, first column, count) completes a part of a row.
template <class Op, class T, class F>
void ByRow(const T* x, T* y, const PoolSizes& s, int64_t planes, F finish) {
  T line[kLine + 4 * kWidth<T>] = {};
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
          JoinDown<Op>(x, line, s, a, b, r * stride - s.begin[2], width);
          if (stride == 1) {
            JoinAcross<Op, 1>(line, y + r, count, s.kernel[2], s.dilation[2]);
          } else if (stride == 2) {
            JoinAcross<Op, 2>(line, y + r, count, s.kernel[2], s.dilation[2]);
          } else {
            JoinAcrossSteps<Op>(line, y + r, count, stride, s.kernel[2], s.dilation[2]);
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

// The places of elements, as wide as T so that one mask serves both.
template <class T>
struct PlaceOf;
template <>
struct PlaceOf<float> {
  using type = int32_t;
};
template <>
struct PlaceOf<double> {
  using type = int64_t;
};
template <class T>
using Place = typename PlaceOf<T>::type;

// Places of one row at a time; lines are longer by what whole vectors read beyond them.
constexpr int64_t kPart = 256;

// Takes the elements of one row of the window into account: `line` is that row with its padding,
// `at` the place in the plane of its first element.
// A function of its own, so that it has all registers. kKernel 0: not known here.
template <int kStride, int kKernel, class T>
__attribute__((noinline)) void TakeRow(const T* line, T* best, Place<T>* where, int64_t count,
                                       int64_t at, int64_t stride, int64_t kernel,
                                       int64_t dilation) {
  if (kStride != 0) stride = kStride;
  if (kKernel != 0) kernel = kKernel;
  using V = Vector<T>;
  using P = Vector<Place<T>>;
  P steps;
  for (int64_t i = 0; i < kWidth<T>; ++i) steps[i] = static_cast<Place<T>>(i * stride);
  for (int64_t i = 0; i < count; i += kWidth<T>) {
    V m = WholeVector<T>{i}(best);
    P w = WholeVector<Place<T>>{i}(where);
    const P places = steps + static_cast<Place<T>>(at + i * stride);
    for (int64_t k = 0; k < kernel; ++k) {
      const V v = LoadStrided<kStride>(line + i * stride + k * dilation, stride);
      const auto take = (v > m) | (v != v);
      m = take ? v : m;
      w = take ? places + static_cast<Place<T>>(k * dilation) : w;
    }
    WholeVector<T>{i}.Store(best, m);
    WholeVector<Place<T>>{i}.Store(where, w);
  }
}

// A row of windows: where it is and which places have no padding.
template <class T>
struct WindowRow {
  const T* x;    // the plane
  const T* end;  // of all planes: vectors may read up to here
  Span a, b;
  Middle middle;
};

// One place after another.
template <class T>
inline Place<T> LargestAt(const WindowRow<T>& row, const PoolSizes& s, int64_t r) {
  const Span c = SpanOf(s, 2, r);
  int64_t best = -1;
  for (int64_t i = row.a.first; i < row.a.last; i += row.a.step) {
    for (int64_t j = row.b.first; j < row.b.last; j += row.b.step) {
      for (int64_t k = c.first; k < c.last; k += c.step) {
        const int64_t at = (i * s.in[1] + j) * s.in[2] + k;
        if (best < 0 || row.x[at] > row.x[best] || row.x[at] != row.x[at]) best = at;
      }
    }
  }
  return static_cast<Place<T>>(best);
}

// Which element of the plane is the largest of each window of a part of a row without padding; -1
// where all are minus infinity. `line` has room for what whole vectors read.
template <int kStride, class T>
inline void FindLargest(const WindowRow<T>& row, T* best, Place<T>* where, T* line,
                        const PoolSizes& s, int64_t r, int64_t count) {
  const int64_t stride = s.stride[2], kernel = s.kernel[2], dilation = s.dilation[2];
  const int64_t width = (count - 1) * stride + (kernel - 1) * dilation + 1;
  const int64_t reads = width + 2 * kWidth<T> * stride;
  const int64_t from = r * stride - s.begin[2];
  for (int64_t i = 0; i < count; i += kWidth<T>) {
    WholeVector<T>{i}.Store(best, Vector<T>{} - static_cast<T>(__builtin_inf()));
    WholeVector<Place<T>>{i}.Store(where, Vector<Place<T>>{} - 1);
  }
  for (int64_t i = row.a.first; i < row.a.last; i += row.a.step) {
    for (int64_t j = row.b.first; j < row.b.last; j += row.b.step) {
      const int64_t at = (i * s.in[1] + j) * s.in[2] + from;
      const T* source = row.x + at;
      if (row.end - source < reads) {  // near the end of memory
        ForEach<T>(width, [source, line](auto e) { e.Store(line, e(source)); });
        source = line;
      }
      if (kernel == 2) {
        TakeRow<kStride, 2>(source, best, where, count, at, stride, kernel, dilation);
      } else if (kernel == 3) {
        TakeRow<kStride, 3>(source, best, where, count, at, stride, kernel, dilation);
      } else {
        TakeRow<kStride, 0>(source, best, where, count, at, stride, kernel, dilation);
      }
    }
  }
}

template <class T>
void MaxPoolGrad(const T* x, const T* dy, T* dx, const PoolSizes& s, int64_t planes) {
  constexpr int64_t kSlack = 2 * kWidth<T>;
  T best[kPart + kSlack];
  Place<T> where[kPart + kSlack];
  T line[kLine + 4 * kPart];
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  const int64_t extent = (s.kernel[2] - 1) * s.dilation[2] + 1, stride = s.stride[2];
  // So many places that their line, and what whole vectors read beyond it, has room.
  const int64_t room = (kLine + 4 * kPart - extent) / stride - kSlack;
  const int64_t at_a_time = Most(1, Least(kPart, room));
  WindowRow<T> row = {x, x + planes * plane, {}, {}, MiddleOf(s)};
  for (int64_t n = 0; n < planes; ++n, row.x += plane, dx += plane) {
    ForEach<T>(plane, [dx](auto e) { e.Store(dx, Vector<T>{}); });
    const auto edge = [&](int64_t r) {
      const Place<T> at = LargestAt(row, s, r);
      if (at >= 0) dx[at] += dy[r];
    };
    for (int64_t p = 0; p < s.out[0]; ++p) {
      row.a = SpanOf(s, 0, p);
      for (int64_t q = 0; q < s.out[1]; ++q, dy += s.out[2]) {
        row.b = SpanOf(s, 1, q);
        for (int64_t r = 0; r < row.middle.first; ++r) edge(r);
        for (int64_t r = row.middle.first; r < row.middle.last; r += at_a_time) {
          const int64_t count = Least(at_a_time, row.middle.last - r);
          if (stride == 1) {
            FindLargest<1>(row, best, where, line, s, r, count);
          } else if (stride == 2) {
            FindLargest<2>(row, best, where, line, s, r, count);
          } else {
            FindLargest<0>(row, best, where, line, s, r, count);
          }
          for (int64_t i = 0; i < count; ++i) {
            if (__builtin_expect(where[i] >= 0, 1)) {
              dx[where[i]] += dy[r + i];
            } else {
              edge(r + i);  // nothing but minus infinity
            }
          }
        }
        for (int64_t r = row.middle.last; r < s.out[2]; ++r) edge(r);
      }
    }
  }
}

// Each window's share added to its elements.
template <class T>
void AdaptiveAvgPoolGrad(const T* dy, T* dx, const PoolSizes& s, int64_t planes) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  const bool one = s.out[0] * s.out[1] * s.out[2] == 1;
  for (int64_t n = 0; n < planes; ++n, dx += plane) {
    const T first = one ? *dy++ / static_cast<T>(plane) : T(0);
    ForEach<T>(plane, [=](auto e) { e.Store(dx, Vector<T>{} + first); });
    if (one) continue;
    for (int64_t p = 0; p < s.out[0]; ++p) {
      const Span a = SpanOf(s, 0, p);
      for (int64_t q = 0; q < s.out[1]; ++q) {
        const Span b = SpanOf(s, 1, q);
        for (int64_t r = 0; r < s.out[2]; ++r) {
          const Span c = SpanOf(s, 2, r);
          const int64_t count = (a.last - a.first) * (b.last - b.first) * (c.last - c.first);
          const T share = *dy++ / static_cast<T>(count);
          for (int64_t i = a.first; i < a.last; ++i) {
            for (int64_t j = b.first; j < b.last; ++j) {
              T* row = dx + (i * s.in[1] + j) * s.in[2] + c.first;
              ForEach<T>(c.last - c.first, [=](auto e) { e.Store(row, e(row) + share); });
            }
          }
        }
      }
    }
  }
}

// dy divided, spread across a line, and the line added to every row of the window.
template <class T>
void AvgPoolGrad(const T* dy, T* dx, const PoolSizes& s, int64_t planes) {
  if (s.adaptive) {
    AdaptiveAvgPoolGrad(dy, dx, s, planes);
    return;
  }
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

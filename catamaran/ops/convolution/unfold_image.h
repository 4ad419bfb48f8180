// ops/convolution/unfold_image.h
//
// Windows of an image as columns of a matrix (im2col), and the transpose, which adds columns back
// to the places they came from. Rows are (channel, element of the window), columns are places.

#pragma once

#include <algorithm>
#include <cstdint>

namespace catamaran {

// How one window slides over three spatial axes.
struct UnfoldSizes {
  int64_t in[3], out[3], kernel[3], stride[3], begin[3], dilation[3];
  int64_t places() const { return out[0] * out[1] * out[2]; }
  int64_t elements() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// Calls visit(row of the image, column in it of place 0, position in the line of columns, count)
// for the part of each output row that lies in places [begin, end), for window element `t`;
// row is -1 where it lies outside the image.
template <class F>
void ForEachRun(const UnfoldSizes& s, int64_t t, int64_t begin, int64_t end, F visit) {
  const int64_t d0 = t / (s.kernel[1] * s.kernel[2]) * s.dilation[0] - s.begin[0];
  const int64_t d1 = t / s.kernel[2] % s.kernel[1] * s.dilation[1] - s.begin[1];
  for (int64_t at = begin; at < end;) {
    const int64_t line = at / s.out[2], first = at % s.out[2];
    const int64_t count = std::min(s.out[2] - first, end - at);
    const int64_t a = line / s.out[1] * s.stride[0] + d0;
    const int64_t b = line % s.out[1] * s.stride[1] + d1;
    const bool inside = a >= 0 && a < s.in[0] && b >= 0 && b < s.in[1];
    visit(inside ? a * s.in[1] + b : -1, first, at - begin, count);
    at += count;
  }
}

// The first place and the one after the last, of those in [first, first + count), whose element at
// distance `d` lies within a row.
struct Inside {
  int64_t first, last;
};
inline Inside InsideOf(const UnfoldSizes& s, int64_t d, int64_t first, int64_t count) {
  const int64_t stride = s.stride[2];
  const int64_t low = d >= 0 ? 0 : (-d + stride - 1) / stride;
  const int64_t high = s.in[2] - d <= 0 ? 0 : (s.in[2] - d + stride - 1) / stride;
  const int64_t begin = std::clamp(low, first, first + count);
  return {begin, std::clamp(high, begin, first + count)};
}

// columns[c * elements + t, place - begin] for channels of `x` and places [begin, end).
template <class T>
void UnfoldImage(const T* x, T* columns, const UnfoldSizes& s, int64_t channels, int64_t begin,
                 int64_t end) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t c = 0; c < channels; ++c, x += plane) {
    for (int64_t t = 0; t < s.elements(); ++t, columns += end - begin) {
      const int64_t d = t % s.kernel[2] * s.dilation[2] - s.begin[2];
      ForEachRun(s, t, begin, end, [&](int64_t row, int64_t first, int64_t at, int64_t count) {
        T* to = columns + at;
        if (row < 0) {
          std::fill_n(to, count, T(0));
          return;
        }
        const Inside in = InsideOf(s, d, first, count);
        const T* from = x + row * s.in[2] + d;
        std::fill_n(to, in.first - first, T(0));
        if (s.stride[2] == 1) {
          std::copy(from + in.first, from + in.last, to + (in.first - first));
        } else {
          for (int64_t i = in.first; i < in.last; ++i) to[i - first] = from[i * s.stride[2]];
        }
        std::fill_n(to + (in.last - first), first + count - in.last, T(0));
      });
    }
  }
}

// Adds the columns of places [begin, end) to `x`.
template <class T>
void FoldImage(const T* columns, T* x, const UnfoldSizes& s, int64_t channels, int64_t begin,
               int64_t end) {
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t c = 0; c < channels; ++c, x += plane) {
    for (int64_t t = 0; t < s.elements(); ++t, columns += end - begin) {
      const int64_t d = t % s.kernel[2] * s.dilation[2] - s.begin[2];
      ForEachRun(s, t, begin, end, [&](int64_t row, int64_t first, int64_t at, int64_t count) {
        if (row < 0) return;
        const Inside in = InsideOf(s, d, first, count);
        const T* from = columns + at - first;
        T* to = x + row * s.in[2] + d;
        if (s.stride[2] == 1) {
          for (int64_t i = in.first; i < in.last; ++i) to[i] += from[i];
        } else {
          for (int64_t i = in.first; i < in.last; ++i) to[i * s.stride[2]] += from[i];
        }
      });
    }
  }
}

}  // namespace catamaran

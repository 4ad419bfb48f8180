// ops/convolution/conv_direct_simd.h
//
// Vector code for convolutions of images with few channels, where libraries that put channels into
// the lanes of a vector leave most of them empty: here neighbours in a row are the lanes. Windows
// slide by one. Plain data only.

#pragma once

#include <cstdint>

namespace catamaran {

// Rows as the code reads them: zeros around each image, and behind each row so many that a whole
// vector may begin at any place of the result.
inline constexpr int64_t kDirectLanes = 16;  // of the widest instruction set
inline constexpr int64_t kDirectMostKernel = 7;

struct DirectSizes {
  int64_t in_channels, out_channels;
  int64_t out_rows, out_columns;  // of the result
  int64_t kernel_rows, kernel_columns;
  // Of padded images: rows of a plane, and elements from one row to the next.
  int64_t rows() const { return out_rows + kernel_rows - 1; }
  int64_t row_stride() const { return Whole(out_columns) + Whole(kernel_columns - 1); }
  int64_t image() const { return in_channels * rows() * row_stride(); }
  // Of padded results, which ToWeights reads.
  int64_t result_stride() const { return Whole(out_columns); }
  int64_t result() const { return out_channels * out_rows * result_stride(); }
  int64_t filters() const { return in_channels * kernel_rows * kernel_columns * out_channels; }
  static int64_t Whole(int64_t n) { return (n + kDirectLanes - 1) / kDirectLanes * kDirectLanes; }
};

struct DirectFunctions {
  // y of one padded image: y[o, p, q] = bias[o] + sum of w[i, r, c, o] * x[i, p + r, q + c]. The
  // filters have the result's channel last.
  void (*image)(const float* x, const float* w, const float* bias, float* y, const DirectSizes& s);
  // Adds to dw[o, i, r, c], for the filters [first, last), what `images` padded images and results
  // give: the sum over places of dy[o, p, q] * x[i, p + r, q + c].
  void (*weights)(const float* x, const float* dy, float* dw, int64_t images, int64_t first,
                  int64_t last, const DirectSizes& s);
};

namespace plain {
const DirectFunctions& GetDirectFunctions();
}
namespace avx2 {
const DirectFunctions& GetDirectFunctions();
}
namespace avx512 {
const DirectFunctions& GetDirectFunctions();
}

}  // namespace catamaran

// ops/onednn_conv.h
//
// Convolutions by oneDNN, in two and three dimensions. Tensors go in and come out plain; what the
// library wants packed is repacked here, a few images at a time, so that what was repacked is
// still in the cache when it is used. It runs on the calling thread only. In a build without
// oneDNN, nothing here may be called.
//
// Thread safety: all functions and methods may be called concurrently.

#pragma once

#include <cstdint>
#include <memory>

namespace catamaran::onednn {

// As the sizes of the reference in convolution/conv_reference.h: x [batch, in_channels, in…],
// w [out_channels, in_channels / groups, kernel…], y [batch, out_channels, out…].
struct ConvSizes {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], begin[3], end[3], dilation[3];
};

enum class ConvKind {
  kForward,  // (x, w) -> y
  kData,     // (y, w) -> x
  kWeight,   // (x, y) -> w
};

class Conv {
 public:
  virtual ~Conv() = default;
  // Any number of images. `bias`, for kForward only, has one number a filter, or is null.
  virtual void Run(const float* a, const float* b, const float* bias, float* out,
                   int64_t images) const = 0;
};

// One convolution for images of one size; sizes.batch is about how many come at a time.
// `y_channels` is how many channels y has in memory: out_channels, or more where only some of its
// channels, next to each other, are computed (or, for kWeight, used).
std::unique_ptr<Conv> MakeConv(ConvKind kind, const ConvSizes& sizes, bool bias,
                               int64_t y_channels);

}  // namespace catamaran::onednn

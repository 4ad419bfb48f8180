// ops/convolution/conv_reference.h
//
// The references of convolution in one, two and three dimensions, of its gradients and of
// transposed convolution.

#pragma once

#include <algorithm>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

// Images [batch, in_channels, in…], filters [out_channels, in_channels / groups, kernel…], results
// [batch, out_channels, out…]. Three spatial axes; fewer begin with ones.
struct ConvSizes {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], begin[3], end[3], dilation[3];
};

// Calls term(x index, w index, y index) for every product of the convolution.
template <class F>
void ConvTerms(const ConvSizes& s, F term) {
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const int64_t* k = s.kernel;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t o = 0; o < s.out_channels; ++o) {
      for (int64_t i = 0; i < in_group; ++i) {
        const int64_t channel = n * s.in_channels + o / out_group * in_group + i;
        for (int64_t t = 0; t < k[0] * k[1] * k[2]; ++t) {
          const int64_t w = (o * in_group + i) * k[0] * k[1] * k[2] + t;
          const int64_t d0 = t / (k[1] * k[2]) * s.dilation[0] - s.begin[0];
          const int64_t d1 = t / k[2] % k[1] * s.dilation[1] - s.begin[1];
          const int64_t d2 = t % k[2] * s.dilation[2] - s.begin[2];
          for (int64_t p = 0; p < s.out[0]; ++p) {
            const int64_t a = p * s.stride[0] + d0;
            if (a < 0 || a >= s.in[0]) continue;
            for (int64_t q = 0; q < s.out[1]; ++q) {
              const int64_t b = q * s.stride[1] + d1;
              if (b < 0 || b >= s.in[1]) continue;
              const int64_t x_row = ((channel * s.in[0] + a) * s.in[1] + b) * s.in[2];
              const int64_t y_row =
                  (((n * s.out_channels + o) * s.out[0] + p) * s.out[1] + q) * s.out[2];
              for (int64_t r = 0; r < s.out[2]; ++r) {
                const int64_t c = r * s.stride[2] + d2;
                if (c >= 0 && c < s.in[2]) term(x_row + c, w, y_row + r);
              }
            }
          }
        }
      }
    }
  }
}

// Sets every channel of y [batch, channels, inner] to its bias, or to 0 without one.
template <class T>
void ConvBias(const T* bias, T* y, int64_t batch, int64_t channels, int64_t inner) {
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t c = 0; c < channels; ++c, y += inner) {
      std::fill_n(y, inner, bias == nullptr ? T(0) : bias[c]);
    }
  }
}

// bias is null where there is none.
template <class T>
void Conv(const T* x, const T* w, const T* bias, T* y, const ConvSizes& s) {
  ConvBias(bias, y, s.batch, s.out_channels, s.out[0] * s.out[1] * s.out[2]);
  ConvTerms(s, [&](int64_t i, int64_t j, int64_t k) { y[k] += x[i] * w[j]; });
}

// The sizes are those of the convolution that this transposes: dy is its result.
template <class T>
void ConvTranspose(const T* dy, const T* w, const T* bias, T* dx, const ConvSizes& s) {
  ConvBias(bias, dx, s.batch, s.in_channels, s.in[0] * s.in[1] * s.in[2]);
  ConvTerms(s, [&](int64_t i, int64_t j, int64_t k) { dx[i] += dy[k] * w[j]; });
}

template <class T>
void ConvGradInput(const T* dy, const T* w, T* dx, const ConvSizes& s) {
  ConvTranspose(dy, w, static_cast<const T*>(nullptr), dx, s);
}

template <class T>
void ConvGradWeight(const T* x, const T* dy, T* dw, const ConvSizes& s) {
  const int64_t filter = s.in_channels / s.groups * s.kernel[0] * s.kernel[1] * s.kernel[2];
  std::fill_n(dw, s.out_channels * filter, T(0));
  ConvTerms(s, [&](int64_t i, int64_t j, int64_t k) { dw[j] += x[i] * dy[k]; });
}

}  // namespace catamaran::reference
// reference-end

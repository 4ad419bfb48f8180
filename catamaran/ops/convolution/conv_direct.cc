#include "catamaran/ops/convolution/conv_direct.h"

#include <algorithm>
#include <vector>

#include "catamaran/ops/convolution/conv_direct_simd.h"
#include "catamaran/ops/kernel_support.h"

namespace catamaran {
namespace {

using reference::ConvSizes;

// Padded images and results that are summed up at a time: they stay in the second-level cache.
constexpr int64_t kGroupFloats = 64 * 1024;

struct PreparedDirect final : Prepared {
  const DirectFunctions* functions = nullptr;
};

bool SlidesByOne(const ConvSizes& s) {
  return s.groups == 1 && s.in[0] == 1 && s.kernel[0] == 1 && s.begin[0] == 0 && s.out[0] == 1 &&
         s.stride[1] == 1 && s.stride[2] == 1 && s.dilation[1] == 1 && s.dilation[2] == 1 &&
         s.begin[1] < s.kernel[1] && s.begin[2] < s.kernel[2] && s.begin[1] >= 0 &&
         s.begin[2] >= 0 && s.kernel[2] <= kDirectMostKernel && s.in_channels > 0 &&
         s.out_channels > 0 && s.out[1] > 0 && s.out[2] >= 8 && s.in[1] > 0 && s.in[2] > 0;
}

// Where it is faster than oneDNN, which is so while channels would fill half a vector.
bool SuitsForward(const ConvSizes& s) { return s.in_channels <= 16 && s.out_channels <= 8; }
bool SuitsData(const ConvSizes& s) {
  return s.in_channels <= 8 && s.out_channels <= (s.in_channels == 1 ? 8 : 64);
}
bool SuitsWeight(const ConvSizes& s) { return s.in_channels < 8 && s.out_channels < 8; }

ConvSizes RunSizes(const KernelContext& c) {
  ConvSizes s = c.sizes<ConvSizes>();
  s.batch = c.in(0).shape()[0];
  return s;
}

int64_t ImageCost(const ConvSizes& s) {
  return s.out_channels * s.out[1] * s.out[2] * s.in_channels * s.kernel[1] * s.kernel[2] / 8;
}

// Copies planes into rows of `stride` elements, `rows` a plane, with zeros around them.
void Pad(const float* from, float* to, int64_t planes, int64_t height, int64_t width, int64_t top,
         int64_t left, int64_t rows, int64_t stride) {
  for (int64_t k = 0; k < planes; ++k, from += height * width, to += rows * stride) {
    std::fill_n(to, rows * stride, 0.0f);
    const int64_t count = std::min(width, stride - left);
    for (int64_t y = 0; y < height && y + top < rows; ++y) {
      std::copy_n(from + y * width, count, to + (y + top) * stride + left);
    }
  }
}

float* ThreadBuffer(int64_t size) {
  thread_local std::vector<float> buffer;
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
  return buffer.data();
}

// ---- Results.

// One product: `in` padded by (top, left) gives `out`.
struct Product {
  DirectSizes sizes;
  int64_t in_rows, in_columns, top, left;
};

void RunImages(const KernelContext& c, const Product& p, const float* in, const float* filters,
               const float* bias, float* out, int64_t batch, int64_t cost) {
  const auto* functions = static_cast<const PreparedDirect*>(c.prepared)->functions;
  const int64_t from = p.sizes.in_channels * p.in_rows * p.in_columns;
  const int64_t to = p.sizes.out_channels * p.sizes.out_rows * p.sizes.out_columns;
  Split(c.pool, batch, cost, [&](int64_t begin, int64_t end) {
    float* padded = ThreadBuffer(p.sizes.image());
    for (int64_t n = begin; n < end; ++n) {
      Pad(in + n * from, padded, p.sizes.in_channels, p.in_rows, p.in_columns, p.top, p.left,
          p.sizes.rows(), p.sizes.row_stride());
      functions->image(padded, filters, bias, out + n * to, p.sizes);
    }
  });
}

KernelStatus RunForward(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  const Product p = {{s.in_channels, s.out_channels, s.out[1], s.out[2], s.kernel[1], s.kernel[2]},
                     s.in[1],
                     s.in[2],
                     s.begin[1],
                     s.begin[2]};
  const float* w = c.in(1).data<float>();
  std::vector<float> filters(static_cast<size_t>(p.sizes.filters()));
  const int64_t terms = p.sizes.filters() / s.out_channels;
  for (int64_t o = 0; o < s.out_channels; ++o) {
    for (int64_t t = 0; t < terms; ++t) filters[t * s.out_channels + o] = w[o * terms + t];
  }
  RunImages(c, p, c.in(0).data<float>(), filters.data(),
            c.has_in(2) ? c.in(2).data<float>() : nullptr, c.out().data<float>(), s.batch,
            ImageCost(s));
  return KernelStatus::kDone;
}

// The gradient of an image is a convolution of the result's, with filters turned around.
KernelStatus RunData(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  const Product p = {{s.out_channels, s.in_channels, s.in[1], s.in[2], s.kernel[1], s.kernel[2]},
                     s.out[1],
                     s.out[2],
                     s.kernel[1] - 1 - s.begin[1],
                     s.kernel[2] - 1 - s.begin[2]};
  const float* w = c.in(1).data<float>();
  std::vector<float> filters(static_cast<size_t>(p.sizes.filters()));
  const int64_t window = s.kernel[1] * s.kernel[2];
  for (int64_t o = 0; o < s.out_channels; ++o) {
    for (int64_t i = 0; i < s.in_channels; ++i) {
      for (int64_t t = 0; t < window; ++t) {
        filters[(o * window + window - 1 - t) * s.in_channels + i] =
            w[(o * s.in_channels + i) * window + t];
      }
    }
  }
  RunImages(c, p, c.in(0).data<float>(), filters.data(),
            c.has_in(2) ? c.in(2).data<float>() : nullptr, c.out().data<float>(), s.batch,
            ImageCost(s));
  return KernelStatus::kDone;
}

// ---- Weights.

// Threads take filters, so that sums do not depend on how many there are.
KernelStatus RunWeight(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  const DirectSizes d = {s.in_channels, s.out_channels, s.out[1],
                         s.out[2],      s.kernel[1],    s.kernel[2]};
  const auto* functions = static_cast<const PreparedDirect*>(c.prepared)->functions;
  const float* x = c.in(0).data<float>();
  const float* dy = c.in(1).data<float>();
  float* dw = c.out().data<float>();
  const int64_t filter = d.filters() / s.out_channels;
  const int64_t group = std::clamp<int64_t>(kGroupFloats / (d.image() + d.result()), 1,
                                            std::max<int64_t>(1, s.batch));
  Split(c.pool, s.out_channels, ImageCost(s) * s.batch / s.out_channels,
        [&](int64_t first, int64_t last) {
          std::fill_n(dw + first * filter, (last - first) * filter, 0.0f);
          float* images = ThreadBuffer(group * (d.image() + d.result()));
          float* results = images + group * d.image();
          for (int64_t n = 0; n < s.batch; n += group) {
            const int64_t count = std::min(group, s.batch - n);
            const int64_t plane = s.in[1] * s.in[2], result_plane = s.out[1] * s.out[2];
            Pad(x + n * s.in_channels * plane, images, count * s.in_channels, s.in[1], s.in[2],
                s.begin[1], s.begin[2], d.rows(), d.row_stride());
            Pad(dy + n * s.out_channels * result_plane, results, count * s.out_channels, s.out[1],
                s.out[2], 0, 0, s.out[1], d.result_stride());
            functions->weights(images, results, dw, count, first, last, d);
          }
        });
  return KernelStatus::kDone;
}

Kernel DirectKernel(KernelFn run, bool (*suits)(const ConvSizes&)) {
  Kernel kernel = FastKernel("direct", run, [suits](const KernelQuery& q) {
    const ConvSizes s = q.sizes->As<ConvSizes>();
    return IsF32(q) && q.isa != Isa::kPlain && SlidesByOne(s) && suits(s);
  });
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedDirect>();
    prepared->functions = &plain::GetDirectFunctions();
#if CATAMARAN_HAS_X86_ISAS
    if (q.isa == Isa::kAvx2) prepared->functions = &avx2::GetDirectFunctions();
    if (q.isa == Isa::kAvx512) prepared->functions = &avx512::GetDirectFunctions();
#endif
    return prepared;
  };
  return kernel;
}

}  // namespace

Kernel DirectForwardKernel() { return DirectKernel(RunForward, SuitsForward); }
Kernel DirectDataKernel() { return DirectKernel(RunData, SuitsData); }
Kernel DirectWeightKernel() { return DirectKernel(RunWeight, SuitsWeight); }

}  // namespace catamaran

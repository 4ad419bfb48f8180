#include "catamaran/ops/convolution/conv_kernels.h"

#include <map>
#include <mutex>
#include <vector>

#include "catamaran/ops/blas.h"
#include "catamaran/ops/convolution/conv_direct.h"
#include "catamaran/ops/convolution/unfold_image.h"
#include "catamaran/ops/onednn.h"
#include "catamaran/ops/onednn_conv.h"

namespace catamaran {
namespace {

using onednn::ConvKind;
using reference::ConvSizes;

int64_t Volume(const int64_t (&v)[3]) { return v[0] * v[1] * v[2]; }
int64_t ImageSize(const ConvSizes& s) { return s.in_channels * Volume(s.in); }
int64_t ResultSize(const ConvSizes& s) { return s.out_channels * Volume(s.out); }
int64_t FilterSize(const ConvSizes& s) { return s.in_channels / s.groups * Volume(s.kernel); }
// About the time that one image takes, for Split.
int64_t ImageCost(const ConvSizes& s) { return ResultSize(s) * FilterSize(s) / 8; }

// The sizes of this run: the batch may be smaller than it was in prepare.
ConvSizes RunSizes(const KernelContext& c) {
  ConvSizes s = c.sizes<ConvSizes>();
  if (s.batch > 0) s.batch = c.in(0).shape()[0];
  return s;
}

bool IsEmpty(const ConvSizes& s) {
  return s.batch == 0 || ImageSize(s) == 0 || ResultSize(s) == 0 || FilterSize(s) == 0;
}

template <class T>
const T* BiasOf(const KernelContext& c) {
  return c.has_in(2) ? c.in(2).data<T>() : nullptr;
}

// ---- By oneDNN.

// The convolutions for the ranges of filters that threads take.
struct PreparedConv final : Prepared {
  ConvKind kind;
  ConvSizes sizes;
  bool bias = false;
  mutable std::mutex mutex;
  mutable std::map<int64_t, std::unique_ptr<onednn::Conv>> by_filters;

  // For so many filters (or, with groups, filters of so many whole groups).
  const onednn::Conv& For(int64_t filters) const {
    std::lock_guard lock(mutex);
    std::unique_ptr<onednn::Conv>& conv = by_filters[filters];
    if (conv == nullptr) {
      onednn::ConvSizes s;
      static_assert(sizeof(s) == sizeof(sizes));
      std::memcpy(&s, &sizes, sizeof(s));
      s.out_channels = filters;
      conv = onednn::MakeConv(kind, s, bias, sizes.out_channels);
    }
    return *conv;
  }
};

template <ConvKind kind>
std::unique_ptr<Prepared> PrepareOnednn(const KernelQuery& q) {
  auto prepared = std::make_unique<PreparedConv>();
  prepared->kind = kind;
  prepared->sizes = q.sizes->As<ConvSizes>();
  prepared->bias = kind == ConvKind::kForward && q.in.size() > 2 && q.in[2] != nullptr &&
                   q.in[2]->shape().rank() == 1;
  if (!IsEmpty(prepared->sizes)) prepared->For(prepared->sizes.out_channels);
  return prepared;
}

// Filters come in steps of the widest vectors that the library packs them in.
constexpr int64_t kFilterStep = 16;

// Calls body(first filter, end) for ranges of filters, on the pool.
template <class F>
void SplitFilters(const KernelContext& c, const ConvSizes& s, F&& body) {
  if (s.groups > 1 || s.out_channels % kFilterStep != 0) {
    body(int64_t{0}, s.out_channels);
    return;
  }
  const int64_t steps = s.out_channels / kFilterStep;
  Split(c.pool, steps, ImageCost(s) * s.batch / steps,
        [&](int64_t begin, int64_t end) { body(begin * kFilterStep, end * kFilterStep); });
}

KernelStatus RunForward(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  const auto* prepared = static_cast<const PreparedConv*>(c.prepared);
  const float* x = c.in(0).data<float>();
  const float* w = c.in(1).data<float>();
  const float* bias = BiasOf<float>(c);
  float* y = c.out().data<float>();
  if (s.batch == 0) return KernelStatus::kDone;
  // A few images on many threads: each thread takes some of the filters.
  if (c.pool != nullptr && s.batch < c.pool->threads()) {
    SplitFilters(c, s, [&](int64_t begin, int64_t end) {
      prepared->For(end - begin)
          .Run(x, w + begin * FilterSize(s), bias ? bias + begin : nullptr,
               y + begin * Volume(s.out), s.batch);
    });
  } else {
    const onednn::Conv& conv = prepared->For(s.out_channels);
    Split(c.pool, s.batch, ImageCost(s), [&](int64_t begin, int64_t end) {
      conv.Run(x + begin * ImageSize(s), w, bias, y + begin * ResultSize(s), end - begin);
    });
  }
  return KernelStatus::kDone;
}

void AddBias(const float* bias, float* x, int64_t images, int64_t channels, int64_t inner) {
  if (bias == nullptr) return;
  for (int64_t i = 0; i < images * channels; ++i, x += inner) {
    const float b = bias[i % channels];
    for (int64_t k = 0; k < inner; ++k) x[k] += b;
  }
}

KernelStatus RunData(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  const auto* prepared = static_cast<const PreparedConv*>(c.prepared);
  const float* dy = c.in(0).data<float>();
  const float* w = c.in(1).data<float>();
  const float* bias = BiasOf<float>(c);
  float* dx = c.out().data<float>();
  if (s.batch == 0) return KernelStatus::kDone;
  const onednn::Conv& conv = prepared->For(s.out_channels);
  Split(c.pool, s.batch, ImageCost(s), [&](int64_t begin, int64_t end) {
    float* to = dx + begin * ImageSize(s);
    conv.Run(dy + begin * ResultSize(s), w, nullptr, to, end - begin);
    AddBias(bias, to, end - begin, s.in_channels, Volume(s.in));
  });
  return KernelStatus::kDone;
}

KernelStatus RunWeight(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  const auto* prepared = static_cast<const PreparedConv*>(c.prepared);
  const float* x = c.in(0).data<float>();
  const float* dy = c.in(1).data<float>();
  float* dw = c.out().data<float>();
  if (s.batch == 0) {
    std::fill_n(dw, c.out().size(), 0.0f);
    return KernelStatus::kDone;
  }
  SplitFilters(c, s, [&](int64_t begin, int64_t end) {
    prepared->For(end - begin)
        .Run(x, dy + begin * Volume(s.out), nullptr, dw + begin * FilterSize(s), s.batch);
  });
  return KernelStatus::kDone;
}

template <ConvKind kind>
Kernel OnednnKernel(KernelFn run) {
  Kernel kernel = FastKernel("onednn", run, [](const KernelQuery& q) {
    const ConvSizes s = q.sizes->As<ConvSizes>();
    // The library has no good code for the gradient of images with few channels.
    if (kind == ConvKind::kData && s.groups == 1 && s.in_channels < 8) return false;
    return onednn::kAvailable && IsF32(q) && !IsEmpty(s);
  });
  kernel.prepare = PrepareOnednn<kind>;
  return kernel;
}

// ---- As matrix products over unfolded images.

UnfoldSizes UnfoldOf(const ConvSizes& s) {
  UnfoldSizes u;
  for (int i = 0; i < 3; ++i) {
    u.in[i] = s.in[i];
    u.out[i] = s.out[i];
    u.kernel[i] = s.kernel[i];
    u.stride[i] = s.stride[i];
    u.begin[i] = s.begin[i];
    u.dilation[i] = s.dilation[i];
  }
  return u;
}

// A buffer of the calling thread, kept for its next call.
template <class T>
T* ThreadBuffer(int64_t size) {
  thread_local std::vector<T> buffer;
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
  return buffer.data();
}

// So many places at a time that their columns stay in the second-level cache.
int64_t PlacesAtATime(const ConvSizes& s, size_t element) {
  const int64_t most = 512 * 1024 / static_cast<int64_t>(element) / FilterSize(s);
  return std::clamp<int64_t>(most, 32, Volume(s.out));
}

// 1 x 1 windows without steps or padding: the image is its own columns.
bool IsPointwise(const ConvSizes& s) {
  return Volume(s.kernel) == 1 && Volume(s.stride) == 1 && Volume(s.in) == Volume(s.out);
}

template <class T>
void ForwardImages(const T* x, const T* w, const T* bias, T* y, const ConvSizes& s, int64_t begin,
                   int64_t end) {
  const UnfoldSizes u = UnfoldOf(s);
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const int64_t terms = FilterSize(s), places = u.places();
  const int64_t tile = IsPointwise(s) ? places : PlacesAtATime(s, sizeof(T));
  T* columns = IsPointwise(s) ? nullptr : ThreadBuffer<T>(terms * tile);
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t g = 0; g < s.groups; ++g) {
      const T* image = x + (n * s.in_channels + g * in_group) * Volume(s.in);
      T* result = y + (n * s.out_channels + g * out_group) * places;
      for (int64_t p = 0; p < places; p += tile) {
        const int64_t count = std::min(tile, places - p);
        if (columns) UnfoldImage(image, columns, u, in_group, p, p + count);
        blas::Gemm(false, false, out_group, count, terms, w + g * out_group * terms, terms,
                   columns ? columns : image, count, result + p, places);
      }
      if (bias == nullptr) continue;
      for (int64_t o = 0; o < out_group; ++o) {
        const T b = bias[g * out_group + o];
        for (int64_t p = 0; p < places; ++p) result[o * places + p] += b;
      }
    }
  }
}

template <class T>
void DataImages(const T* dy, const T* w, const T* bias, T* dx, const ConvSizes& s, int64_t begin,
                int64_t end) {
  const UnfoldSizes u = UnfoldOf(s);
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const int64_t terms = FilterSize(s), places = u.places();
  const int64_t tile = PlacesAtATime(s, sizeof(T));
  T* columns = ThreadBuffer<T>(terms * tile);
  reference::ConvBias(bias, dx + begin * ImageSize(s), end - begin, s.in_channels, Volume(s.in));
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t g = 0; g < s.groups; ++g) {
      T* image = dx + (n * s.in_channels + g * in_group) * Volume(s.in);
      const T* result = dy + (n * s.out_channels + g * out_group) * places;
      for (int64_t p = 0; p < places; p += tile) {
        const int64_t count = std::min(tile, places - p);
        blas::Gemm(true, false, terms, count, out_group, w + g * out_group * terms, terms,
                   result + p, places, columns, count);
        FoldImage(columns, image, u, in_group, p, p + count);
      }
    }
  }
}

// dw of groups [begin, end), over all images in order.
template <class T>
void WeightGroups(const T* x, const T* dy, T* dw, const ConvSizes& s, int64_t begin, int64_t end) {
  const UnfoldSizes u = UnfoldOf(s);
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const int64_t terms = FilterSize(s), places = u.places();
  const int64_t tile = PlacesAtATime(s, sizeof(T));
  T* columns = ThreadBuffer<T>(terms * tile + out_group * terms);
  T* part = columns + terms * tile;
  std::fill(dw + begin * out_group * terms, dw + end * out_group * terms, T(0));
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t g = begin; g < end; ++g) {
      const T* image = x + (n * s.in_channels + g * in_group) * Volume(s.in);
      const T* result = dy + (n * s.out_channels + g * out_group) * places;
      T* sum = dw + g * out_group * terms;
      for (int64_t p = 0; p < places; p += tile) {
        const int64_t count = std::min(tile, places - p);
        UnfoldImage(image, columns, u, in_group, p, p + count);
        blas::Gemm(false, true, out_group, terms, count, result + p, places, columns, count, part,
                   terms);
        for (int64_t i = 0; i < out_group * terms; ++i) sum[i] += part[i];
      }
    }
  }
}

template <class F>
KernelStatus ByType(const KernelContext& c, F&& body) {
  DispatchFloating(c.in(0).tensor.dtype, body, "convolution");
  return KernelStatus::kDone;
}

KernelStatus UnfoldForward(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  return ByType(c, [&]<class T>(T) {
    Split(c.pool, s.batch, ImageCost(s), [&](int64_t begin, int64_t end) {
      ForwardImages(c.in(0).data<T>(), c.in(1).data<T>(), BiasOf<T>(c), c.out().data<T>(), s, begin,
                    end);
    });
  });
}
KernelStatus UnfoldData(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  return ByType(c, [&]<class T>(T) {
    Split(c.pool, s.batch, ImageCost(s), [&](int64_t begin, int64_t end) {
      DataImages(c.in(0).data<T>(), c.in(1).data<T>(), BiasOf<T>(c), c.out().data<T>(), s, begin,
                 end);
    });
  });
}
KernelStatus UnfoldWeight(KernelContext& c) {
  const ConvSizes s = RunSizes(c);
  return ByType(c, [&]<class T>(T) {
    Split(c.pool, s.groups, ImageCost(s) * s.batch / s.groups, [&](int64_t begin, int64_t end) {
      WeightGroups(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), s, begin, end);
    });
  });
}

Kernel UnfoldKernel(KernelFn run) {
  return FastKernel("im2col", run,
                    [](const KernelQuery& q) { return !IsEmpty(q.sizes->As<ConvSizes>()); });
}

// ---- References.

KernelStatus ConvReference(KernelContext& c) {
  return ByType(c, [&]<class T>(T) {
    reference::Conv<T>(c.in(0).data<T>(), c.in(1).data<T>(), BiasOf<T>(c), c.out().data<T>(),
                       RunSizes(c));
  });
}
KernelStatus TransposeReference(KernelContext& c) {
  return ByType(c, [&]<class T>(T) {
    reference::ConvTranspose<T>(c.in(0).data<T>(), c.in(1).data<T>(), BiasOf<T>(c),
                                c.out().data<T>(), RunSizes(c));
  });
}
KernelStatus GradInputReference(KernelContext& c) {
  return ByType(c, [&]<class T>(T) {
    reference::ConvGradInput<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(),
                                RunSizes(c));
  });
}
KernelStatus GradWeightReference(KernelContext& c) {
  return ByType(c, [&]<class T>(T) {
    reference::ConvGradWeight<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(),
                                 RunSizes(c));
  });
}

}  // namespace

OpBuilder& AddConvKernels(OpBuilder& op) {
  return op.Fast(DirectForwardKernel())
      .Fast(OnednnKernel<ConvKind::kForward>(RunForward))
      .Fast(UnfoldKernel(UnfoldForward))
      .Reference("Conv", ConvReference);
}
OpBuilder& AddConvTransposeKernels(OpBuilder& op) {
  return op.Fast(DirectDataKernel())
      .Fast(OnednnKernel<ConvKind::kData>(RunData))
      .Fast(UnfoldKernel(UnfoldData))
      .Reference("ConvTranspose", TransposeReference);
}
OpBuilder& AddConvGradInputKernels(OpBuilder& op) {
  return op.Fast(DirectDataKernel())
      .Fast(OnednnKernel<ConvKind::kData>(RunData))
      .Fast(UnfoldKernel(UnfoldData))
      .Reference("ConvGradInput", GradInputReference);
}
OpBuilder& AddConvGradWeightKernels(OpBuilder& op) {
  return op.Fast(DirectWeightKernel())
      .Fast(OnednnKernel<ConvKind::kWeight>(RunWeight))
      .Fast(UnfoldKernel(UnfoldWeight))
      .Reference("ConvGradWeight", GradWeightReference);
}

void FillConvSizes(const KernelQuery& q, const Shape& x, const Shape& w, const Shape& y,
                   Words& words) {
  const Window window = WindowOf(*q.op, x.rank() - 2, SpatialOf(w));
  words << x[0] << x[1] << y[1] << q.op->attr("groups").AsInt() << SpatialOf(x) << SpatialOf(y)
        << window.kernel << window.stride << window.begin << window.end << window.dilation;
}

OpCost ConvCost(const KernelQuery& q) {
  const ConvSizes s = q.sizes->As<ConvSizes>();
  const double terms = 2.0 * static_cast<double>(s.batch) * static_cast<double>(ResultSize(s)) *
                       static_cast<double>(FilterSize(s));
  double bytes = 0;
  for (const Slot* slot : {q.in[0], q.in[1], q.out[0]}) {
    bytes += static_cast<double>(slot->size()) * static_cast<double>(SizeOf(slot->tensor.dtype));
  }
  return {terms, bytes};
}

}  // namespace catamaran

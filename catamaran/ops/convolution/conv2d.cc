// ops/convolution/conv2d.cc
//
// conv2d(x, w): two-dimensional convolution (cross-correlation) of images NCHW with filters OIHW,
// with stride, padding, dilation and groups; and its two gradients, which are ops as well, so that
// gradients of any order are convolutions.

#include <map>
#include <mutex>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/onednn.h"

// reference-begin
namespace catamaran::reference {

struct Conv2dSizes {
  int64_t batch, in_channels, height, width;
  int64_t out_channels, kernel_height, kernel_width;
  int64_t out_height, out_width;
  int64_t stride_height, stride_width, padding_height, padding_width;
  int64_t dilation_height, dilation_width, groups;
};

// Calls term(x index, w index, y index) for every product of the convolution.
template <class F>
void Conv2dTerms(const Conv2dSizes& s, F term) {
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t o = 0; o < s.out_channels; ++o) {
      const int64_t first = o / out_group * in_group;
      for (int64_t i = 0; i < in_group; ++i) {
        for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
          for (int64_t kw = 0; kw < s.kernel_width; ++kw) {
            const int64_t w = ((o * in_group + i) * s.kernel_height + kh) * s.kernel_width + kw;
            for (int64_t oh = 0; oh < s.out_height; ++oh) {
              const int64_t h = oh * s.stride_height - s.padding_height + kh * s.dilation_height;
              if (h < 0 || h >= s.height) continue;
              const int64_t x_row = ((n * s.in_channels + first + i) * s.height + h) * s.width;
              const int64_t y_row = ((n * s.out_channels + o) * s.out_height + oh) * s.out_width;
              for (int64_t ow = 0; ow < s.out_width; ++ow) {
                const int64_t v = ow * s.stride_width - s.padding_width + kw * s.dilation_width;
                if (v >= 0 && v < s.width) term(x_row + v, w, y_row + ow);
              }
            }
          }
        }
      }
    }
  }
}

template <class T>
void Conv2d(const T* x, const T* w, T* y, const Conv2dSizes& s) {
  std::fill_n(y, s.batch * s.out_channels * s.out_height * s.out_width, T(0));
  Conv2dTerms(s, [&](int64_t i, int64_t j, int64_t k) { y[k] += x[i] * w[j]; });
}

template <class T>
void Conv2dGradInput(const T* dy, const T* w, T* dx, const Conv2dSizes& s) {
  std::fill_n(dx, s.batch * s.in_channels * s.height * s.width, T(0));
  Conv2dTerms(s, [&](int64_t i, int64_t j, int64_t k) { dx[i] += dy[k] * w[j]; });
}

template <class T>
void Conv2dGradWeight(const T* x, const T* dy, T* dw, const Conv2dSizes& s) {
  std::fill_n(dw, s.out_channels * (s.in_channels / s.groups) * s.kernel_height * s.kernel_width,
              T(0));
  Conv2dTerms(s, [&](int64_t i, int64_t j, int64_t k) { dw[j] += x[i] * dy[k]; });
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::Conv2dSizes;

// `stride=2` or `stride=[2, 1]`.
std::pair<int64_t, int64_t> PairOf(const Attr& attr) {
  if (attr.list() == nullptr) return {attr.AsInt(), attr.AsInt()};
  const std::vector<int64_t> values = attr.AsInts();
  if (values.size() != 2) Fail("wants one number or [height, width], found {}", attr.ToString());
  return {values[0], values[1]};
}

struct Geometry {
  std::pair<int64_t, int64_t> stride, padding, dilation;
  int64_t groups = 1;
};

Geometry GeometryOf(const Op& op) {
  return {PairOf(op.attr("stride")), PairOf(op.attr("padding")), PairOf(op.attr("dilation")),
          op.attr("groups").AsInt()};
}

// Checks the attributes; reports and returns false.
bool ReadGeometry(InferContext& c, Geometry* g) {
  try {
    *g = GeometryOf(c.op());
  } catch (const Error& e) {
    return c.Fail(e.what());
  }
  if (g->stride.first < 1 || g->stride.second < 1) return c.Fail("stride must be at least 1");
  if (g->dilation.first < 1 || g->dilation.second < 1) return c.Fail("dilation must be at least 1");
  if (g->padding.first < 0 || g->padding.second < 0) return c.Fail("padding must not be negative");
  if (g->groups < 1) return c.Fail("groups must be at least 1");
  return true;
}

Dim OutSize(const Dim& in, const Dim& kernel, int64_t stride, int64_t padding, int64_t dilation) {
  return (in + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
}

bool WantImages(InferContext& c) {
  return c.WantFloat(0) && c.WantFloat(1) && c.WantSameDType(0, 1) && c.WantRank(0, 4) &&
         c.WantRank(1, 4);
}

// Filters and groups must divide.
bool CheckGroups(InferContext& c, const Dim& out_channels, int64_t groups) {
  if (out_channels.is_constant() && out_channels.constant() % groups != 0) {
    return c.Fail("groups=" + std::to_string(groups) + " does not divide the " +
                  out_channels.ToString() + " filters");
  }
  return true;
}

bool CheckFits(InferContext& c, const Dim& out) {
  if (out.is_constant() && out.constant() < 1) {
    return c.Fail("the filter is larger than the padded image");
  }
  return true;
}

void InferConv(InferContext& c) {
  Geometry g;
  if (!WantImages(c) || !ReadGeometry(c, &g)) return;
  const Type& x = c.type(0);
  const Type& w = c.type(1);
  if (!c.Unify(x.dim(1), w.dim(1) * g.groups, "channels")) return;
  if (!CheckGroups(c, w.dim(0), g.groups)) return;
  const Dim h = OutSize(x.dim(2), w.dim(2), g.stride.first, g.padding.first, g.dilation.first);
  const Dim v = OutSize(x.dim(3), w.dim(3), g.stride.second, g.padding.second, g.dilation.second);
  if (!CheckFits(c, h) || !CheckFits(c, v)) return;
  c.SetResult(Type::Tensor(x.dtype(), {x.dim(0), w.dim(0), h, v}));
}

// Both gradients know one spatial size from an attribute.
bool ReadSize(InferContext& c, const char* attr, std::vector<Dim>* size) {
  try {
    *size = c.op().attr(attr).AsDims();
  } catch (const Error& e) {
    return c.Fail(e.what());
  }
  if (size->size() != 2) return c.Fail(std::string(attr) + " wants [height, width]");
  return true;
}

bool CheckOutSize(InferContext& c, const Type& dy, const std::vector<Dim>& in,
                  const std::vector<Dim>& kernel, const Geometry& g) {
  return c.Unify(dy.dim(2),
                 OutSize(in[0], kernel[0], g.stride.first, g.padding.first, g.dilation.first),
                 "heights") &&
         c.Unify(dy.dim(3),
                 OutSize(in[1], kernel[1], g.stride.second, g.padding.second, g.dilation.second),
                 "widths");
}

void InferGradInput(InferContext& c) {
  Geometry g;
  std::vector<Dim> size;
  if (!WantImages(c) || !ReadGeometry(c, &g) || !ReadSize(c, "size", &size)) return;
  const Type& dy = c.type(0);
  const Type& w = c.type(1);
  if (!c.Unify(dy.dim(1), w.dim(0), "filters") || !CheckGroups(c, w.dim(0), g.groups)) return;
  if (!CheckOutSize(c, dy, size, {w.dim(2), w.dim(3)}, g)) return;
  c.SetResult(Type::Tensor(dy.dtype(), {dy.dim(0), w.dim(1) * g.groups, size[0], size[1]}));
}

void InferGradWeight(InferContext& c) {
  Geometry g;
  std::vector<Dim> kernel;
  if (!WantImages(c) || !ReadGeometry(c, &g) || !ReadSize(c, "kernel", &kernel)) return;
  const Type& x = c.type(0);
  const Type& dy = c.type(1);
  if (!c.Unify(x.dim(0), dy.dim(0), "batches") || !CheckGroups(c, dy.dim(1), g.groups)) return;
  if (!CheckOutSize(c, dy, {x.dim(2), x.dim(3)}, kernel, g)) return;
  c.SetResult(Type::Tensor(x.dtype(), {dy.dim(1), x.dim(1) / Dim(g.groups), kernel[0], kernel[1]}));
}

void FillSizes(const KernelQuery& q, const Shape& x, const Shape& w, const Shape& y, Words& words) {
  const Geometry g = GeometryOf(*q.op);
  words << x[0] << x[1] << x[2] << x[3] << w[0] << w[2] << w[3] << y[2] << y[3] << g.stride.first
        << g.stride.second << g.padding.first << g.padding.second << g.dilation.first
        << g.dilation.second << g.groups;
}

OpCost Cost(const KernelQuery& q) {
  const Conv2dSizes s = q.sizes->As<Conv2dSizes>();
  double terms = 2;
  for (int64_t v : {s.batch, s.out_channels, s.out_height, s.out_width, s.in_channels / s.groups,
                    s.kernel_height, s.kernel_width}) {
    terms *= static_cast<double>(v);
  }
  double bytes = 0;
  for (const Slot* slot : {q.in[0], q.in[1], q.out[0]}) {
    bytes += static_cast<double>(slot->size()) * static_cast<double>(SizeOf(slot->tensor.dtype));
  }
  return {terms, bytes};
}

using MakeFn = std::unique_ptr<onednn::Primitive> (*)(const onednn::ConvSizes&);

// One primitive for each number of images that a thread gets.
struct PreparedConv final : Prepared {
  onednn::ConvSizes sizes;
  MakeFn make;
  mutable std::mutex mutex;
  mutable std::map<int64_t, std::unique_ptr<onednn::Primitive>> by_batch;

  const onednn::Primitive& For(int64_t batch) const {
    std::lock_guard lock(mutex);
    std::unique_ptr<onednn::Primitive>& primitive = by_batch[batch];
    if (primitive == nullptr) {
      onednn::ConvSizes s = sizes;
      s.batch = batch;
      primitive = make(s);
    }
    return *primitive;
  }
};

template <MakeFn make>
std::unique_ptr<Prepared> Prepare(const KernelQuery& q) {
  const Conv2dSizes s = q.sizes->As<Conv2dSizes>();
  auto prepared = std::make_unique<PreparedConv>();
  static_assert(sizeof(prepared->sizes) == sizeof(s));
  std::memcpy(&prepared->sizes, &s, sizeof(s));
  prepared->make = make;
  if (s.batch > 0) prepared->For(s.batch);
  return prepared;
}

// Splits the images over the pool. `b` is shared; `a` and `out` have one part an image.
KernelStatus RunByImage(KernelContext& c) {
  const Conv2dSizes& s = c.sizes<Conv2dSizes>();
  const auto* prepared = static_cast<const PreparedConv*>(c.prepared);
  const float* a = c.in(0).data<float>();
  const float* b = c.in(1).data<float>();
  float* out = c.out().data<float>();
  if (s.batch == 0) return KernelStatus::kDone;
  const int64_t a_image = c.in(0).size() / s.batch, out_image = c.out().size() / s.batch;
  const int64_t cost = s.out_channels * s.out_height * s.out_width * (s.in_channels / s.groups) *
                       s.kernel_height * s.kernel_width / 8;
  Split(c.pool, s.batch, cost, [&](int64_t begin, int64_t end) {
    prepared->For(end - begin).Run(a + begin * a_image, b, out + begin * out_image);
  });
  return KernelStatus::kDone;
}

KernelStatus RunWhole(KernelContext& c) {
  const Conv2dSizes& s = c.sizes<Conv2dSizes>();
  float* out = c.out().data<float>();
  if (s.batch == 0) {
    std::fill_n(out, c.out().size(), 0.0f);
    return KernelStatus::kDone;
  }
  static_cast<const PreparedConv*>(c.prepared)
      ->For(s.batch)
      .Run(c.in(0).data<float>(), c.in(1).data<float>(), out);
  return KernelStatus::kDone;
}

// Nothing to compute where a size is 0.
bool Supports(const KernelQuery& q) {
  if (!onednn::kAvailable || !IsF32(q)) return false;
  const Conv2dSizes s = q.sizes->As<Conv2dSizes>();
  return s.in_channels > 0 && s.out_channels > 0 && s.kernel_height > 0 && s.kernel_width > 0 &&
         s.out_height > 0 && s.out_width > 0 && s.height > 0 && s.width > 0;
}

template <MakeFn make>
Kernel OnednnKernel(KernelFn run) {
  Kernel kernel = FastKernel("onednn", run, Supports);
  kernel.prepare = Prepare<make>;
  return kernel;
}

template <class Reference>
void RunReference(KernelContext& c, Reference reference) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference(static_cast<const T*>(c.in(0).data<T>()),
                  static_cast<const T*>(c.in(1).data<T>()), c.out().data<T>(),
                  c.sizes<Conv2dSizes>());
      },
      "conv2d");
}
KernelStatus ConvReference(KernelContext& c) {
  RunReference(c, [](auto... args) { reference::Conv2d(args...); });
  return KernelStatus::kDone;
}
KernelStatus GradInputReference(KernelContext& c) {
  RunReference(c, [](auto... args) { reference::Conv2dGradInput(args...); });
  return KernelStatus::kDone;
}
KernelStatus GradWeightReference(KernelContext& c) {
  RunReference(c, [](auto... args) { reference::Conv2dGradWeight(args...); });
  return KernelStatus::kDone;
}

// The geometry, handed on, and one more attribute.
std::vector<NamedAttr> GeometryAttrs(const GradContext& c) {
  std::vector<NamedAttr> attrs;
  for (const char* name : {"stride", "padding", "dilation", "groups"}) {
    attrs.push_back({name, c.attr(name)});
  }
  return attrs;
}
Var Conv(GradContext& c, Var x, Var w) { return c.emit().Emit("conv2d", {x, w}, GeometryAttrs(c)); }
Var GradInput(GradContext& c, Var dy, Var w, const Type& like) {
  std::vector<NamedAttr> attrs = GeometryAttrs(c);
  attrs.push_back({"size", Attr::Dims({like.dim(2), like.dim(3)})});
  return c.emit().Emit("conv2d_grad_input", {dy, w}, std::move(attrs));
}
Var GradWeight(GradContext& c, Var x, Var dy, const Type& like) {
  std::vector<NamedAttr> attrs = GeometryAttrs(c);
  attrs.push_back({"kernel", Attr::Dims({like.dim(2), like.dim(3)})});
  return c.emit().Emit("conv2d_grad_weight", {x, dy}, std::move(attrs));
}

OpBuilder& AddGeometry(OpBuilder& op) {
  return op.Group("matrix")
      .WithAttr("stride", AttrKind::kAny, 1, "one number or [height, width]")
      .WithAttr("padding", AttrKind::kAny, 0, "zeros on each side: one number or [height, width]")
      .WithAttr("dilation", AttrKind::kAny, 1,
                "spacing of the filter: one number or [height, width]")
      .WithAttr("groups", AttrKind::kInt, 1, "channels and filters fall into so many groups")
      .Cost(Cost);
}

// A shape worth testing: input, filters, geometry.
struct Case {
  Shape x, w, y;
  std::vector<NamedAttr> attrs;
};
std::vector<Case> Cases() {
  return {
      {{2, 3, 5, 4}, {4, 3, 3, 3}, {2, 4, 3, 2}, {}},
      {{2, 2, 6, 7},
       {3, 2, 3, 2},
       {2, 3, 3, 3},
       {{"stride", 2}, {"padding", Attr::Ints({1, 0})}, {"dilation", Attr::Ints({1, 1})}}},
      {{1, 4, 7, 7}, {6, 2, 3, 3}, {1, 6, 3, 3}, {{"dilation", 2}, {"groups", 2}}},
      {{1, 2, 4, 5},
       {2, 1, 2, 3},
       {1, 2, 2, 5},
       {{"stride", Attr::Ints({2, 1})}, {"padding", Attr::Ints({0, 1})}, {"groups", 2}}},
      {{0, 2, 4, 4}, {3, 2, 2, 2}, {0, 3, 3, 3}, {}},
  };
}
Tensor Make(const Shape& shape, uint64_t seed) {
  return shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -1, 1, seed);
}

}  // namespace

void DefineConv2d(OpSet& ops) {
  OpBuilder op = ops.Define("conv2d");
  op.Doc(
        "Slides filters over images: at each place the sum of the products of filter and window. "
        "The result has ((H + 2 padding - dilation (KH - 1) - 1) / stride + 1) rows, and columns "
        "likewise.")
      .Formula(
          "y[n, o, p, q] = sum over i, r, s of x[n, i, p*stride - padding + r*dilation, "
          "q*stride - padding + s*dilation] * w[o, i, r, s]")
      .In("x", "images [B, C, H, W]")
      .In("w", "filters [O, C / groups, KH, KW]");
  AddGeometry(op)
      .Infer(InferConv)
      .Sizes("Conv2dSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(q, q.in[0]->shape(), q.in[1]->shape(), q.out[0]->shape(), words);
             })
      .Grad([](GradContext& c) {
        const Var x = c.operand(0), w = c.operand(1);
        if (c.wanted(0)) c.SetGrad(0, GradInput(c, c.grad(), w, x.type()));
        if (c.wanted(1)) c.SetGrad(1, GradWeight(c, x, c.grad(), w.type()));
      })
      .Fast(OnednnKernel<onednn::MakeConv>(RunByImage))
      .Reference("Conv2d", ConvReference);
  for (const Case& s : Cases()) {
    op.AddSample({.inputs = {Make(s.x, 1), Make(s.w, 2)}, .attrs = s.attrs});
  }
}

void DefineConv2dGradInput(OpSet& ops) {
  OpBuilder op = ops.Define("conv2d_grad_input");
  op.Doc("The gradient of conv2d at its images (also called transposed convolution).")
      .Formula("dx[n, i, h, v] = sum of dy * w over all terms of conv2d that x[n, i, h, v] is in")
      .In("dy", "[B, O, OH, OW]")
      .In("w", "filters [O, C / groups, KH, KW]")
      .RequiredAttr("size", AttrKind::kInts, "[height, width] of the images");
  AddGeometry(op)
      .Infer(InferGradInput)
      .Sizes("Conv2dSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(q, q.out[0]->shape(), q.in[1]->shape(), q.in[0]->shape(), words);
             })
      .Grad([](GradContext& c) {
        const Var dy = c.operand(0), w = c.operand(1), u = c.grad();
        if (c.wanted(0)) c.SetGrad(0, Conv(c, u, w));
        if (c.wanted(1)) c.SetGrad(1, GradWeight(c, u, dy, w.type()));
      })
      .Fast(OnednnKernel<onednn::MakeConvGradInput>(RunByImage))
      .Reference("Conv2dGradInput", GradInputReference);
  for (const Case& s : Cases()) {
    std::vector<NamedAttr> attrs = s.attrs;
    attrs.push_back({"size", Attr::Ints({s.x[2], s.x[3]})});
    op.AddSample({.inputs = {Make(s.y, 1), Make(s.w, 2)}, .attrs = std::move(attrs)});
  }
}

void DefineConv2dGradWeight(OpSet& ops) {
  OpBuilder op = ops.Define("conv2d_grad_weight");
  op.Doc("The gradient of conv2d at its filters.")
      .Formula("dw[o, i, r, s] = sum of x * dy over all terms of conv2d that w[o, i, r, s] is in")
      .In("x", "images [B, C, H, W]")
      .In("dy", "[B, O, OH, OW]")
      .RequiredAttr("kernel", AttrKind::kInts, "[height, width] of the filters");
  AddGeometry(op)
      .Infer(InferGradWeight)
      .Sizes("Conv2dSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(q, q.in[0]->shape(), q.out[0]->shape(), q.in[1]->shape(), words);
             })
      .Grad([](GradContext& c) {
        const Var x = c.operand(0), dy = c.operand(1), u = c.grad();
        if (c.wanted(0)) c.SetGrad(0, GradInput(c, dy, u, x.type()));
        if (c.wanted(1)) c.SetGrad(1, Conv(c, x, u));
      })
      .Fast(OnednnKernel<onednn::MakeConvGradWeight>(RunWhole))
      .Reference("Conv2dGradWeight", GradWeightReference);
  for (const Case& s : Cases()) {
    std::vector<NamedAttr> attrs = s.attrs;
    attrs.push_back({"kernel", Attr::Ints({s.w[2], s.w[3]})});
    op.AddSample({.inputs = {Make(s.x, 1), Make(s.y, 2)}, .attrs = std::move(attrs)});
  }
}

}  // namespace catamaran

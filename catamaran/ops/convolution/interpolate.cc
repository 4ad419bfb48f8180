// ops/convolution/interpolate.cc
//
// interpolate(x, size, scale, mode): the spatial axes of x stretched or shrunk to another size, by
// the nearest element or linearly; and its gradient.

#include <fmt/format.h>

#include <cmath>

#include "catamaran/ops/convolution/interpolate_reference.h"
#include "catamaran/ops/convolution/interpolate_simd.h"
#include "catamaran/ops/convolution/pool.h"
#include "catamaran/ops/convolution/window.h"

namespace catamaran {
namespace {

using reference::InterpolateSizes;

bool IsLinear(const Op& op) { return op.attr("mode").AsWord() != "nearest"; }

// `scale` for each of `rank` axes; empty when it is left out. Throws an Error.
std::vector<double> ScalesOf(const Op& op, int rank) {
  const Attr& attr = op.attr("scale");
  if (attr.empty()) return {};
  std::vector<double> scales;
  if (attr.list() == nullptr) {
    scales.assign(static_cast<size_t>(rank), attr.AsDouble());
  } else {
    for (const Attr& v : *attr.list()) scales.push_back(v.AsDouble());
  }
  if (static_cast<int>(scales.size()) != rank) {
    Fail("scale wants one number, or {} for the {} spatial axes; found {}", rank, rank,
         attr.ToString());
  }
  for (double v : scales) {
    if (!(v > 0) || std::isinf(v)) Fail("scale must be above 0, found {}", v);
  }
  return scales;
}

bool CheckMode(InferContext& c, int rank) {
  const std::string mode = c.op().attr("mode").AsWord();
  if (c.op().attr("align_corners").AsBool() && mode == "nearest") {
    return c.Fail("align_corners means nothing for nearest");
  }
  if ((mode == "bilinear" && rank != 2) || (mode == "trilinear" && rank != 3)) {
    return c.Fail(
        fmt::format("{} wants {} spatial axes, found {}", mode, mode == "bilinear" ? 2 : 3, rank));
  }
  return true;
}

bool CheckSizes(InferContext& c, const std::vector<Dim>& sizes, const char* what) {
  for (const Dim& d : sizes) {
    if (d.is_constant() && d.constant() < 1) return c.Fail(fmt::format("{} is empty", what));
  }
  return true;
}

void InferInterpolate(InferContext& c) {
  if (!WantPlanes(c, 0)) return;
  const Type& x = c.type(0);
  const int rank = x.rank() - 2;
  std::vector<double> scales;
  try {
    scales = ScalesOf(c.op(), rank);
  } catch (const Error& e) {
    c.Fail(e.what());
    return;
  }
  if (!CheckMode(c, rank) || !CheckSizes(c, SpatialDims(x), "a spatial axis of x")) return;
  std::vector<Dim> size, dims = {x.dim(0), x.dim(1)};
  if (!c.op().attr("size").empty()) {
    if (!ReadSpatial(c, "size", rank, &size)) return;
  } else {
    if (scales.empty()) {
      c.Fail("wants size or scale");
      return;
    }
    for (int i = 0; i < rank; ++i) {
      const double scale = scales[static_cast<size_t>(i)];
      const Dim& in = x.dim(i + 2);
      if (scale == std::floor(scale)) {
        size.push_back(in * static_cast<int64_t>(scale));
      } else if (in.is_constant()) {
        size.push_back(
            static_cast<int64_t>(std::floor(static_cast<double>(in.constant()) * scale)));
      } else {
        c.Fail(fmt::format("a scale of {} wants an axis of known size, found {}; give size", scale,
                           in.ToString()));
        return;
      }
    }
  }
  if (!CheckSizes(c, size, "the result")) return;
  dims.insert(dims.end(), size.begin(), size.end());
  c.SetResult(Type::Tensor(x.dtype(), dims));
}

void InferGrad(InferContext& c) {
  std::vector<Dim> size;
  if (!WantPlanes(c, 0) || !ReadSpatial(c, "size", c.type(0).rank() - 2, &size)) return;
  if (!CheckMode(c, c.type(0).rank() - 2) || !CheckSizes(c, size, "x")) return;
  try {
    ScalesOf(c.op(), c.type(0).rank() - 2);
  } catch (const Error& e) {
    c.Fail(e.what());
    return;
  }
  std::vector<Dim> dims = {c.type(0).dim(0), c.type(0).dim(1)};
  dims.insert(dims.end(), size.begin(), size.end());
  c.SetResult(Type::Tensor(c.type(0).dtype(), dims));
}

void FillSizes(const KernelQuery& q, const Shape& x, const Shape& y, Words& words) {
  const int rank = x.rank() - 2;
  const Triple in = SpatialOf(x), out = SpatialOf(y);
  const bool align = q.op->attr("align_corners").AsBool();
  const std::vector<double> scales = ScalesOf(*q.op, rank);
  words << x[0] * x[1] << in << out << IsLinear(*q.op) << align;
  for (size_t i = 0; i < 3; ++i) {
    const size_t given = i + static_cast<size_t>(rank) - 3;  // wraps for axes that are not there
    double step = static_cast<double>(in[i]) / static_cast<double>(out[i]);
    if (align) {
      step = out[i] > 1 ? static_cast<double>(in[i] - 1) / static_cast<double>(out[i] - 1) : 0.0;
    } else if (given < scales.size()) {
      step = 1 / scales[given];
    }
    words << step;
  }
}

InterpolateSizes RunSizes(const KernelContext& c) {
  InterpolateSizes s = c.sizes<InterpolateSizes>();
  s.planes = c.in(0).shape()[0] * c.in(0).shape()[1];
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  return ByFloatType(c, [&]<class T>(T) {
    reference::Interpolate<T>(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c));
  });
}
KernelStatus GradReference(KernelContext& c) {
  return ByFloatType(c, [&]<class T>(T) {
    reference::InterpolateGrad<T>(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c));
  });
}

// The sources of every place, made once.
struct PreparedInterpolate final : Prepared {
  const InterpolateTable* table = nullptr;
  std::vector<int32_t> low[3], high[3];
  std::vector<float> low_f32[3], high_f32[3];
  std::vector<double> low_f64[3], high_f64[3];
  InterpolateAxis<float> f32[3];
  InterpolateAxis<double> f64[3];

  template <class T>
  const InterpolateAxis<T>* axes() const {
    if constexpr (sizeof(T) == 4) {
      return f32;
    } else {
      return f64;
    }
  }
  template <class T>
  const InterpolateFunctions<T>& functions() const {
    if constexpr (sizeof(T) == 4) {
      return table->f32;
    } else {
      return table->f64;
    }
  }
};

std::unique_ptr<Prepared> Prepare(const KernelQuery& q) {
  const InterpolateSizes s = q.sizes->As<InterpolateSizes>();
  auto made = std::make_unique<PreparedInterpolate>();
  made->table = &plain::GetInterpolateTable();
#if CATAMARAN_HAS_X86_ISAS
  if (q.isa == Isa::kAvx2) made->table = &avx2::GetInterpolateTable();
  if (q.isa == Isa::kAvx512) made->table = &avx512::GetInterpolateTable();
#endif
  for (int axis = 0; axis < 3; ++axis) {
    for (int64_t place = 0; place < s.out[axis]; ++place) {
      const auto from = reference::InterpolateSourceOf(s, axis, place);
      made->low[axis].push_back(static_cast<int32_t>(from.low));
      made->high[axis].push_back(static_cast<int32_t>(from.high));
      made->low_f64[axis].push_back(1 - from.weight);
      made->high_f64[axis].push_back(from.weight);
      made->low_f32[axis].push_back(static_cast<float>(1 - from.weight));
      made->high_f32[axis].push_back(static_cast<float>(from.weight));
    }
    bool doubled = s.out[axis] == 2 * s.in[axis];
    for (int64_t place = 0; place < s.out[axis] && doubled; ++place) {
      doubled = made->low[axis][static_cast<size_t>(place)] == place / 2;
    }
    made->f32[axis] = {s.in[axis],
                       s.out[axis],
                       doubled,
                       made->low[axis].data(),
                       made->high[axis].data(),
                       made->low_f32[axis].data(),
                       made->high_f32[axis].data()};
    made->f64[axis] = {s.in[axis],
                       s.out[axis],
                       doubled,
                       made->low[axis].data(),
                       made->high[axis].data(),
                       made->low_f64[axis].data(),
                       made->high_f64[axis].data()};
  }
  return made;
}

// A buffer of the calling thread, kept for its next call.
template <class T>
T* ThreadBuffer(int64_t size) {
  thread_local std::vector<T> buffer;
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
  return buffer.data();
}

template <bool kGrad>
KernelStatus RunVector(KernelContext& c) {
  const InterpolateSizes s = RunSizes(c);
  const auto* prepared = static_cast<const PreparedInterpolate*>(c.prepared);
  const int64_t in = s.in[0] * s.in[1] * s.in[2], out = s.out[0] * s.out[1] * s.out[2];
  return ByFloatType(c, [&]<class T>(T) {
    const InterpolateFunctions<T>& f = prepared->functions<T>();
    const InterpolateAxis<T>* axes = prepared->axes<T>();
    const T* from = c.in(0).data<T>();
    T* to = c.out().data<T>();
    Split(c.pool, s.planes, in + 2 * out, [&](int64_t begin, int64_t end) {
      const int64_t n = end - begin;
      if (kGrad) {
        const T* dy = from + begin * out;
        T* dx = to + begin * in;
        s.linear ? f.linear_grad(dy, dx, axes, ThreadBuffer<T>(s.in[2]), n)
                 : f.nearest_grad(dy, dx, axes, n);
      } else {
        const T* x = from + begin * in;
        T* y = to + begin * out;
        s.linear ? f.linear(x, y, axes, ThreadBuffer<T>(4 * s.out[2]), n)
                 : f.nearest(x, y, axes, n);
      }
    });
  });
}

Kernel VectorKernel(KernelFn run) {
  Kernel kernel = FastKernel("vector", run, [](const KernelQuery& q) {
    const InterpolateSizes s = q.sizes->As<InterpolateSizes>();
    bool fits = true;
    for (int i = 0; i < 3; ++i) fits = fits && s.in[i] > 0 && s.in[i] < INT32_MAX && s.out[i] > 0;
    return fits;
  });
  kernel.prepare = Prepare;
  return kernel;
}

OpBuilder& AddMode(OpBuilder& op) {
  return op
      .WordAttr("mode", {"nearest", "linear", "bilinear", "trilinear"}, "nearest",
                "linear takes one to three spatial axes, bilinear two, trilinear three")
      .WithAttr("align_corners", AttrKind::kBool, false,
                "linear: the outermost elements of x and y lie on each other, and not their edges");
}

std::vector<NamedAttr> ModeAttrs(const GradContext& c, const Type& size_of) {
  std::vector<NamedAttr> attrs = {{"mode", c.attr("mode")},
                                  {"align_corners", c.attr("align_corners")},
                                  {"size", Attr::Dims(SpatialDims(size_of))}};
  if (!c.attr("scale").empty()) attrs.push_back({"scale", c.attr("scale")});
  return attrs;
}

std::vector<PlaneCase> Cases() {
  const Attr linear = Attr::Word("linear"), bilinear = Attr::Word("bilinear");
  const Attr half_more = Attr(std::vector<Attr>{Attr(1.5), Attr(2.5)});
  return {
      {{1, 1, 3}, {1, 1, 6}, {{"scale", 2}}},
      {{1, 2, 3, 5}, {1, 2, 7, 4}, {{"size", Attr::Ints({7, 4})}}},
      {{2, 2, 3, 4}, {2, 2, 6, 8}, {{"scale", 2}}},
      {{1, 2, 3, 5}, {1, 2, 4, 12}, {{"scale", half_more}}},
      {{1, 1, 3}, {1, 1, 6}, {{"scale", 2.3}}},
      {{1, 2, 2, 3, 4}, {1, 2, 3, 3, 8}, {{"size", Attr::Ints({3, 3, 8})}}},
      {{1, 1, 4}, {1, 1, 7}, {{"mode", linear}, {"size", Attr::Ints({7})}}},
      {{1, 2, 3, 5}, {1, 2, 6, 10}, {{"mode", bilinear}, {"scale", 2}}},
      {{2, 2, 3, 4},
       {2, 2, 5, 19},
       {{"mode", bilinear}, {"size", Attr::Ints({5, 19})}, {"align_corners", true}}},
      {{1, 2, 6, 9}, {1, 2, 3, 4}, {{"mode", bilinear}, {"size", Attr::Ints({3, 4})}}},
      {{1, 2, 3, 5}, {1, 2, 4, 12}, {{"mode", bilinear}, {"scale", half_more}}},
      {{1, 2, 3, 4},
       {1, 2, 1, 6},
       {{"mode", bilinear}, {"size", Attr::Ints({1, 6})}, {"align_corners", true}}},
      {{1, 2, 2, 3, 4},
       {1, 2, 3, 2, 6},
       {{"mode", Attr::Word("trilinear")}, {"size", Attr::Ints({3, 2, 6})}}},
      {{0, 2, 3, 3}, {0, 2, 6, 6}, {{"scale", 2}}},
  };
}

}  // namespace

void DefineInterpolate(OpSet& ops) {
  OpBuilder op = ops.Define("interpolate");
  op.Group("convolution")
      .Doc(
          "The spatial axes stretched or shrunk to another size: each element of the result is the "
          "nearest one of x, or linear between its neighbours. The size is given, or is that of x "
          "times scale, rounded down; with both, scale only says which places of x are meant.")
      .Formula("y[n, c, p] = x[n, c, floor(p*step)], or x at (p + 1/2)*step - 1/2, or x at p*step")
      .In("x", "[B, C, …], one to three spatial axes")
      .OptionalAttr("size", AttrKind::kInts, "the spatial sizes of the result")
      .OptionalAttr("scale", AttrKind::kAny, "by how much: one number, or one an axis");
  AddMode(op)
      .Infer(InferInterpolate)
      .Sizes("InterpolateSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(q, q.in[0]->shape(), q.out[0]->shape(), words);
             })
      .Grad([](GradContext& c) {
        const Type& x = c.operand(0).type();
        c.SetGrad(0, c.emit().Emit("interpolate_grad", {c.grad()}, ModeAttrs(c, x)));
      })
      .Fast(VectorKernel(RunVector<false>))
      .Reference("Interpolate", RunReference);
  for (const PlaneCase& s : Cases()) op.AddSample({.inputs = {Planes(s.x, 1)}, .attrs = s.attrs});
}

void DefineInterpolateGrad(OpSet& ops) {
  OpBuilder op = ops.Define("interpolate_grad");
  op.Group("convolution")
      .Doc("The gradient of interpolate: the share of each element of dy in every element of x.")
      .Formula("dx[i] = sum of dy[k] * weight of x[i] in y[k]")
      .In("dy", "[B, C, …]")
      .RequiredAttr("size", AttrKind::kInts, "the spatial sizes of x")
      .OptionalAttr("scale", AttrKind::kAny, "as for interpolate");
  AddMode(op)
      .Infer(InferGrad)
      .Sizes("InterpolateSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(q, q.out[0]->shape(), q.in[0]->shape(), words);
             })
      .Grad([](GradContext& c) {
        const Type& dy = c.operand(0).type();
        c.SetGrad(0, c.emit().Emit("interpolate", {c.grad()}, ModeAttrs(c, dy)));
      })
      .Fast(VectorKernel(RunVector<true>))
      .Reference("InterpolateGrad", GradReference);
  for (const PlaneCase& s : Cases()) {
    std::vector<NamedAttr> attrs;
    for (const NamedAttr& attr : s.attrs) {
      if (attr.name != "size") attrs.push_back(attr);
    }
    attrs.push_back({"size", SpatialSizes(s.x)});
    op.AddSample({.inputs = {Planes(s.y, 1)}, .attrs = std::move(attrs)});
  }
}

}  // namespace catamaran

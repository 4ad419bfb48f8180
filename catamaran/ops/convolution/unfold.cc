// ops/convolution/unfold.cc
//
// unfold(x): the windows of x as columns (im2col); fold(columns): its transpose, which adds
// columns back to the places they come from.

#include <fmt/format.h>

#include "catamaran/ops/convolution/pool.h"
#include "catamaran/ops/convolution/unfold_image.h"
#include "catamaran/ops/convolution/window.h"

// reference-begin
namespace catamaran::reference {

// x is [batch, channels, in…] with three spatial axes, columns are
// [batch, channels * kernel…, out…].
struct UnfoldSizes {
  int64_t batch, channels;
  int64_t in[3], out[3], kernel[3], stride[3], begin[3], dilation[3];
};

// Calls visit(x index, column index); the x index is -1 in the padding.
template <class F>
void UnfoldTerms(const UnfoldSizes& s, F visit) {
  const int64_t* k = s.kernel;
  int64_t at = 0;
  for (int64_t plane = 0; plane < s.batch * s.channels; ++plane) {
    for (int64_t t = 0; t < k[0] * k[1] * k[2]; ++t) {
      for (int64_t p = 0; p < s.out[0] * s.out[1] * s.out[2]; ++p, ++at) {
        const int64_t a = p / (s.out[1] * s.out[2]) * s.stride[0] - s.begin[0] +
                          t / (k[1] * k[2]) * s.dilation[0];
        const int64_t b =
            p / s.out[2] % s.out[1] * s.stride[1] - s.begin[1] + t / k[2] % k[1] * s.dilation[1];
        const int64_t c = p % s.out[2] * s.stride[2] - s.begin[2] + t % k[2] * s.dilation[2];
        const bool inside = a >= 0 && a < s.in[0] && b >= 0 && b < s.in[1] && c >= 0 && c < s.in[2];
        visit(inside ? ((plane * s.in[0] + a) * s.in[1] + b) * s.in[2] + c : -1, at);
      }
    }
  }
}

template <class T>
void Unfold(const T* x, T* columns, const UnfoldSizes& s) {
  UnfoldTerms(s, [&](int64_t i, int64_t k) { columns[k] = i < 0 ? T(0) : x[i]; });
}

template <class T>
void Fold(const T* columns, T* x, const UnfoldSizes& s) {
  std::fill_n(x, s.batch * s.channels * s.in[0] * s.in[1] * s.in[2], T(0));
  UnfoldTerms(s, [&](int64_t i, int64_t k) {
    if (i >= 0) x[i] += columns[k];
  });
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using Sizes = reference::UnfoldSizes;

bool ReadKernel(InferContext& c, int rank, std::vector<Dim>* kernel) {
  try {
    for (int64_t k : PerAxis(c.op().attr("kernel"), rank, "kernel")) kernel->push_back(k);
  } catch (const Error& e) {
    return c.Fail(e.what());
  }
  return CheckWindow(c, rank, *kernel);
}

Dim Product(const std::vector<Dim>& dims) {
  Dim product(1);
  for (const Dim& d : dims) product = product * d;
  return product;
}

void InferUnfold(InferContext& c) {
  if (!WantPlanes(c, 0)) return;
  const Type& x = c.type(0);
  std::vector<Dim> kernel, out;
  if (!ReadKernel(c, x.rank() - 2, &kernel) || !PlacesOf(c, SpatialDims(x), kernel, &out)) return;
  c.SetResult(Type::Tensor(x.dtype(), {x.dim(0), x.dim(1) * Product(kernel), Product(out)}));
}

void InferFold(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantRank(0, 3)) return;
  const Type& columns = c.type(0);
  std::vector<Dim> size, kernel, out;
  try {
    size = c.op().attr("size").AsDims();
  } catch (const Error& e) {
    c.Fail(e.what());
    return;
  }
  if (size.empty() || size.size() > 3) {
    c.Fail(fmt::format("size wants one to three numbers, found {}", size.size()));
    return;
  }
  if (!ReadKernel(c, static_cast<int>(size.size()), &kernel)) return;
  if (!PlacesOf(c, size, kernel, &out)) return;
  if (!c.Unify(columns.dim(2), Product(out), "columns and places of the window")) return;
  const Dim elements = Product(kernel), rows = columns.dim(1);
  if (rows.is_constant() && rows.constant() % elements.constant() != 0) {
    c.Fail(fmt::format("the {} rows are not a multiple of the window's {} elements",
                       rows.ToString(), elements.ToString()));
    return;
  }
  std::vector<Dim> dims = {columns.dim(0), rows / elements};
  dims.insert(dims.end(), size.begin(), size.end());
  c.SetResult(Type::Tensor(columns.dtype(), dims));
}

void FillSizes(const KernelQuery& q, const Shape& x, Words& words) {
  const int rank = x.rank() - 2;
  const Window w =
      WindowOf(*q.op, rank, TripleOf(PerAxis(q.op->attr("kernel"), rank, "kernel"), 1));
  const Triple in = SpatialOf(x);
  Triple out;
  for (size_t i = 0; i < 3; ++i) {
    out[i] =
        (in[i] + w.begin[i] + w.end[i] - (w.kernel[i] - 1) * w.dilation[i] - 1) / w.stride[i] + 1;
  }
  words << x[0] << x[1] << in << out << w.kernel << w.stride << w.begin << w.dilation;
}

Sizes RunSizes(const KernelContext& c) {
  Sizes s = c.sizes<Sizes>();
  s.batch = c.in(0).shape()[0];
  return s;
}

KernelStatus UnfoldReference(KernelContext& c) {
  return ByFloatType(c, [&]<class T>(T) {
    reference::Unfold<T>(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c));
  });
}
KernelStatus FoldReference(KernelContext& c) {
  return ByFloatType(c, [&]<class T>(T) {
    reference::Fold<T>(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c));
  });
}

// Row by row, channels over the pool.
template <bool kFold>
KernelStatus RunRows(KernelContext& c) {
  const Sizes s = RunSizes(c);
  UnfoldSizes u;
  for (int i = 0; i < 3; ++i) {
    u.in[i] = s.in[i];
    u.out[i] = s.out[i];
    u.kernel[i] = s.kernel[i];
    u.stride[i] = s.stride[i];
    u.begin[i] = s.begin[i];
    u.dilation[i] = s.dilation[i];
  }
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], column = u.elements() * u.places();
  return ByFloatType(c, [&]<class T>(T) {
    const T* from = c.in(0).data<T>();
    T* to = c.out().data<T>();
    Split(c.pool, s.batch * s.channels, column, [&](int64_t begin, int64_t end) {
      if (kFold) {
        std::fill(to + begin * plane, to + end * plane, T(0));
        FoldImage(from + begin * column, to + begin * plane, u, end - begin, 0, u.places());
      } else {
        UnfoldImage(from + begin * plane, to + begin * column, u, end - begin, 0, u.places());
      }
    });
  });
}

bool HasPlaces(const KernelQuery& q) {
  const Sizes s = q.sizes->As<Sizes>();
  return s.in[0] * s.in[1] * s.in[2] > 0 && s.out[0] * s.out[1] * s.out[2] > 0;
}

std::vector<NamedAttr> Attrs(const GradContext& c) {
  std::vector<NamedAttr> attrs = WindowAttrs(c);
  attrs.push_back({"kernel", c.attr("kernel")});
  return attrs;
}

struct Case {
  Shape x, columns;
  std::vector<NamedAttr> attrs;
};
std::vector<Case> Cases() {
  return {
      {{1, 1, 3, 3}, {1, 4, 4}, {{"kernel", 2}}},
      {{2, 3, 5, 6},
       {2, 18, 9},
       {{"kernel", Attr::Ints({2, 3})}, {"stride", 2}, {"padding", 1}, {"dilation", 1}}},
      {{1, 2, 7, 5}, {1, 8, 15}, {{"kernel", 2}, {"dilation", 2}}},
      {{2, 2, 9}, {2, 6, 4}, {{"kernel", 3}, {"stride", 2}}},
      {{1, 2, 3, 4, 5}, {1, 16, 24}, {{"kernel", 2}}},
      {{0, 2, 3, 3}, {0, 8, 4}, {{"kernel", 2}}},
  };
}
Tensor Make(const Shape& shape) {
  return shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -2, 2);
}

}  // namespace

void DefineUnfold(OpSet& ops) {
  OpBuilder op = ops.Define("unfold");
  op.Group("convolution")
      .Doc(
          "The windows of x as columns: [B, C * elements of the window, places of the window]. "
          "Padding gives zeros. Also called im2col.")
      .Formula("y[n, (c, r, s), (p, q)] = x[n, c, p*stride - padding + r*dilation, …]")
      .In("x", "[B, C, …], one to three spatial axes")
      .RequiredAttr("kernel", AttrKind::kAny, "size of the window: one number, or one an axis");
  AddWindowAttrs(op)
      .Infer(InferUnfold)
      .Sizes("UnfoldSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, q.in[0]->shape(), words); })
      .Grad([](GradContext& c) {
        std::vector<NamedAttr> attrs = Attrs(c);
        attrs.push_back({"size", Attr::Dims(SpatialDims(c.operand(0).type()))});
        c.SetGrad(0, c.emit().Emit("fold", {c.grad()}, std::move(attrs)));
      })
      .Fast(FastKernel("rows", RunRows<false>, HasPlaces))
      .Reference("Unfold", UnfoldReference);
  for (const Case& s : Cases()) op.AddSample({.inputs = {Make(s.x)}, .attrs = s.attrs});
}

void DefineFold(OpSet& ops) {
  OpBuilder op = ops.Define("fold");
  op.Group("convolution")
      .Doc(
          "Adds columns back to the windows of x that unfold takes them from: its transpose. "
          "Elements in several windows get several terms, those in none are 0.")
      .Formula("x[n, c, i] = sum of columns[n, (c, r), p] over p*stride - padding + r*dilation = i")
      .In("columns", "[B, C * elements of the window, places of the window]")
      .RequiredAttr("size", AttrKind::kInts, "the spatial sizes of x")
      .RequiredAttr("kernel", AttrKind::kAny, "size of the window: one number, or one an axis");
  AddWindowAttrs(op)
      .Infer(InferFold)
      .Sizes("UnfoldSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, q.out[0]->shape(), words); })
      .Grad([](GradContext& c) { c.SetGrad(0, c.emit().Emit("unfold", {c.grad()}, Attrs(c))); })
      .Fast(FastKernel("rows", RunRows<true>, HasPlaces))
      .Reference("Fold", FoldReference);
  for (const Case& s : Cases()) {
    std::vector<NamedAttr> attrs = s.attrs;
    std::vector<Dim> size;
    for (int i = 2; i < s.x.rank(); ++i) size.push_back(s.x[i]);
    attrs.push_back({"size", Attr::Dims(size)});
    op.AddSample({.inputs = {Make(s.columns)}, .attrs = std::move(attrs)});
  }
}

}  // namespace catamaran

// ops/shape/expand.cc
//
// expand(x, shape) and expand_like(x, like): x repeated along new or stretched axes.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/broadcast_loop.h"
#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_copy.h"

namespace catamaran {

namespace {

using reference::StridedSizes;

// Whether x broadcasts to `target`.
bool CheckExpands(InferContext& c, const Type& x, const Type& target) {
  const int shift = target.rank() - x.rank();
  const bool ragged_fits =
      x.is_ragged() ? target.is_ragged() && shift == 0
                    : !target.is_ragged() || x.rank() < target.rank() - target.ragged_axis();
  if (shift < 0 || !ragged_fits) {
    return c.Fail(fmt::format("{} does not broadcast to {}", x.ToString(), target.ToString()));
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim& dim = x.dim(axis);
    if (dim.is_constant() && dim.constant() == 1) continue;
    if (!c.Unify(dim, target.dim(axis + shift), "dimensions")) return false;
  }
  return true;
}

StridedSizes SizesOf(const Shape& x, const Shape& y) {
  StridedSizes s{};
  s.rank = y.rank();
  const auto strides = x.RowMajorStrides();
  for (int axis = 0; axis < y.rank(); ++axis) {
    s.dims[axis] = y[axis];
    const int own = axis - y.rank() + x.rank();
    s.strides[axis] = own < 0 || (x[own] == 1 && y[axis] != 1) ? 0 : strides[own];
  }
  return s;
}

KernelStatus RunReference(KernelContext& context) {
  const StridedSizes s = SizesOf(context.in(0).shape(), context.out().shape());
  DispatchWidth(context.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    reference::StridedCopy(context.in(0).data<const T>(), context.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

// Row by row: each is a copy of a stretch of x, or one element repeated.
KernelStatus RunRows(KernelContext& context) {
  const Shape* shape = &context.in(0).shape();
  const BroadcastLoop loop = MakeBroadcastLoop(context.out().shape(), {&shape, 1});
  if (loop.total == 0) return KernelStatus::kDone;
  DispatchWidth(context.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* x = context.in(0).data<const T>();
    T* y = context.out().data<T>();
    const auto rows = [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t at = 0;
        loop.OffsetsOf(row, 1, &at);
        T* to = y + row * loop.inner;
        if ((loop.scalars & 1) != 0) {
          std::fill(to, to + loop.inner, x[at]);
        } else {
          std::memcpy(to, x + at, static_cast<size_t>(loop.inner) * sizeof(T));
        }
      }
    };
    if (context.pool == nullptr || context.pool->threads() == 1 || loop.total < 65536) {
      rows(0, loop.outer);
    } else {
      context.pool->ParallelFor(loop.outer, std::max<int64_t>(1, 32768 / loop.inner), rows);
    }
  });
  return KernelStatus::kDone;
}

void FillSizes(const KernelQuery& query, Words& words) {
  const StridedSizes s = SizesOf(query.in[0]->shape(), query.out[0]->shape());
  words << s.rank;
  for (int64_t dim : s.dims) words << dim;
  for (int64_t stride : s.strides) words << stride;
}

Kernel RowsKernel() {
  Kernel kernel;
  kernel.name = "rows";
  kernel.run = RunRows;
  return kernel;
}

}  // namespace

void DefineExpand(OpSet& ops) {
  ops.Define("expand")
      .Group("shape")
      .Doc("x repeated along new leading axes, and along axes where its size is 1, up to `shape`.")
      .Formula("x, broadcast to the shape")
      .In("x")
      .RequiredAttr("shape", AttrKind::kInts, "the dimensions of the result")
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0)) return;
        const Type target = Type::Tensor(c.type(0).dtype(), c.op().attr("shape").AsDims());
        if (CheckExpands(c, c.type(0), target)) c.SetResult(target);
      })
      .Sizes("StridedSizes", FillSizes)
      .Reference("StridedCopy", RunReference)
      .Fast(RowsKernel())
      .Grad([](GradContext& c) { c.SetGrad(0, c.SumTo(c.grad(), c.operand(0))); })
      .AddSample({.inputs = {Uniform({3}, -1, 1)}, .attrs = {{"shape", Attr::Ints({4, 3})}}})
      .AddSample({.inputs = {Uniform({4, 1}, -1, 1)}, .attrs = {{"shape", Attr::Ints({4, 3})}}})
      .AddSample(
          {.inputs = {Uniform({2, 1, 3}, -1, 1)}, .attrs = {{"shape", Attr::Ints({5, 2, 4, 3})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}, .attrs = {{"shape", Attr::Ints({2, 3})}}})
      .AddSample({.inputs = {RandomInts({1}, 0, 9)}, .attrs = {{"shape", Attr::Ints({4})}}})
      .AddSample({.inputs = {Uniform({3}, -1, 1)}, .attrs = {{"shape", Attr::Ints({0, 3})}}});
}

void DefineExpandLike(OpSet& ops) {
  OpTraits traits;
  traits.understands_ragged = true;
  ops.Define("expand_like")
      .Group("shape")
      .Doc(
          "x repeated to the shape of `like`, which may be ragged. Gradients of reductions use it.")
      .Formula("x, broadcast to the shape of `like`")
      .In("x")
      .In("like", "only its shape matters")
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0) || !c.WantTensor(1)) return;
        const Type target = c.type(1).WithDType(c.type(0).dtype());
        if (CheckExpands(c, c.type(0), target)) c.SetResult(target);
      })
      .Sizes("StridedSizes", FillSizes)
      .Reference("StridedCopy", RunReference)
      .Fast(RowsKernel())
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.SumTo(c.grad(), c.operand(0)));
      })
      .AddSample({.inputs = {Uniform({3}, -1, 1), Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 1}, -1, 1), Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({}, -1, 1), Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Uniform({6, 3}, -1, 1)},
                  .ragged_lengths = {{}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

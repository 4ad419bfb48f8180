// ops/shape/transpose.cc
//
// transpose(x, perm): axes in another order.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_copy.h"

namespace catamaran {

namespace {

using reference::StridedSizes;

// The permutation: axis i of the result is axis perm[i] of x. Empty when it is none.
std::vector<int> PermOf(const Op& op, int rank) {
  std::vector<int> perm;
  if (op.attr("perm").empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
    return perm;
  }
  for (int64_t axis : op.attr("perm").AsInts()) {
    perm.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  std::vector<int> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (static_cast<int>(sorted.size()) != rank) return {};
  for (int axis = 0; axis < rank; ++axis) {
    if (sorted[axis] != axis) return {};
  }
  return perm;
}

void InferTranspose(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  const std::vector<int> perm = PermOf(c.op(), x.rank());
  if (static_cast<int>(perm.size()) != x.rank()) {
    return (void)c.Fail(fmt::format("perm must name each of the {} axes once", x.rank()));
  }
  std::vector<Dim> dims;
  for (int axis : perm) dims.push_back(x.dim(axis));
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims)));
}

StridedSizes SizesOf(const Op& op, const Shape& x) {
  const std::vector<int> perm = PermOf(op, x.rank());
  const auto strides = x.RowMajorStrides();
  StridedSizes s{};
  s.rank = x.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    s.dims[axis] = x[perm[axis]];
    s.strides[axis] = strides[perm[axis]];
  }
  return s;
}

KernelStatus RunReference(KernelContext& context) {
  const StridedSizes s = SizesOf(*context.op, context.in(0).shape());
  DispatchWidth(context.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    reference::StridedCopy(context.in(0).data<const T>(), context.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

// The last two axes change places; those before stay.
bool SwapsLastTwo(const Op& op, int rank) {
  const std::vector<int> perm = PermOf(op, rank);
  if (rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1) return false;
  for (int axis = 0; axis < rank - 2; ++axis) {
    if (perm[axis] != axis) return false;
  }
  return true;
}

// In square tiles, so that both sides stay in the cache.
template <class T>
void TransposeMatrices(const T* x, T* y, int64_t batch, int64_t rows, int64_t columns,
                       ThreadPool* pool) {
  constexpr int64_t kTile = 16;
  const int64_t bands = (columns + kTile - 1) / kTile;
  const auto band = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x + i / bands * rows * columns;
      T* to = y + i / bands * rows * columns;
      const int64_t c0 = i % bands * kTile, c1 = std::min(columns, c0 + kTile);
      for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
        const int64_t r1 = std::min(rows, r0 + kTile);
        for (int64_t c = c0; c < c1; ++c) {
          for (int64_t r = r0; r < r1; ++r) to[c * rows + r] = from[r * columns + c];
        }
      }
    }
  };
  const int64_t count = batch * bands;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, rows * kTile));
  if (pool == nullptr || pool->threads() == 1 || count < 2 * grain) {
    band(0, count);
  } else {
    pool->ParallelFor(count, grain, band);
  }
}

KernelStatus RunTiled(KernelContext& context) {
  const Shape& x = context.in(0).shape();
  if (x.num_elements() == 0) return KernelStatus::kDone;
  DispatchWidth(context.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    TransposeMatrices(context.in(0).data<const T>(), context.out().data<T>(),
                      Product(x, 0, x.rank() - 2), x[x.rank() - 2], x[x.rank() - 1], context.pool);
  });
  return KernelStatus::kDone;
}

void GradOfTranspose(GradContext& c) {
  const int rank = c.op().operand(0)->type.rank();
  const std::vector<int> perm = PermOf(c.op(), rank);
  Attr::List inverse(rank);
  for (int axis = 0; axis < rank; ++axis) inverse[perm[axis]] = Attr(axis);
  c.SetGrad(0, c.emit().Emit("transpose", {c.grad()}, {{"perm", Attr(std::move(inverse))}}));
}

}  // namespace

void DefineTranspose(OpSet& ops) {
  Kernel tiled;
  tiled.name = "tiled";
  tiled.supports = [](const KernelQuery& query) {
    return SwapsLastTwo(*query.op, query.in[0]->shape().rank());
  };
  tiled.run = RunTiled;
  ops.Define("transpose")
      .Group("shape")
      .Doc("Axis i of the result is axis perm[i] of x; without perm the axes are reversed.")
      .Formula("y[i_0, …] = x[…] with i_k at axis perm[k]")
      .In("x")
      .OptionalAttr("perm", AttrKind::kInts, "the axes of x in their new order")
      .Infer(InferTranspose)
      .Sizes("StridedSizes",
             [](const KernelQuery& query, Words& words) {
               const StridedSizes s = SizesOf(*query.op, query.in[0]->shape());
               words << s.rank;
               for (int64_t dim : s.dims) words << dim;
               for (int64_t stride : s.strides) words << stride;
             })
      .Reference("StridedCopy", RunReference)
      .Fast(tiled)
      .Grad(GradOfTranspose)
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample(
          {.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"perm", Attr::Ints({2, 0, 1})}}})
      .AddSample({.inputs = {Uniform({2, 37, 21}, -1, 1)},
                  .attrs = {{"perm", Attr::Ints({0, -1, -2})}},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 2}, 0, 9, DType::kI8)}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Empty({0, 3})}});
}

}  // namespace catamaran

// ops/shape/meshgrid.cc
//
// a, b, … = meshgrid(x, y, …): the coordinates of a grid, from those of its axes.

#include <fmt/format.h>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

struct MeshgridSizes {
  int64_t whole;  // elements of the grid
};

// One result: its vector, of n elements, lies along an axis that has `inner` elements behind it.
template <class T>
void MeshgridPart(const T* x, T* y, const MeshgridSizes& s, int64_t n, int64_t inner) {
  for (int64_t i = 0; i < s.whole; ++i) y[i] = x[i / inner % n];
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::MeshgridSizes;

// The axis of the grid that vector k lies along.
int GridAxis(const Op& op, int k) {
  return op.attr("indexing").AsWord() == "xy" && k < 2 && op.num_operands() > 1 ? 1 - k : k;
}

void InferMeshgrid(InferContext& c) {
  const int count = c.num_operands();
  if (count == 0) return (void)c.Fail("wants at least one vector");
  if (count > kMaxRank) {
    return (void)c.Fail(fmt::format("a tensor has at most {} dimensions", kMaxRank));
  }
  if (c.op().num_results() != count) {
    return (void)c.Fail(fmt::format("has {} results, one for each vector, used as if it had {}",
                                    count, c.op().num_results()));
  }
  std::vector<Dim> dims(static_cast<size_t>(count));
  for (int k = 0; k < count; ++k) {
    if (!c.WantRank(k, 1)) return;
    dims[static_cast<size_t>(GridAxis(c.op(), k))] = c.type(k).dim(0);
  }
  for (int k = 0; k < count; ++k) c.SetResult(k, Type::Tensor(c.type(k).dtype(), dims));
}

// Calls part(k, n, inner) for each result.
template <class F>
void ForEachVector(const KernelContext& c, F part) {
  const Shape& grid = c.out().shape();
  for (int k = 0; k < c.num_ins; ++k) {
    const int axis = GridAxis(*c.op, k);
    part(k, grid[axis], Product(grid, axis + 1, grid.rank()));
  }
}

KernelStatus RunReference(KernelContext& c) {
  ForEachVector(c, [&](int k, int64_t n, int64_t inner) {
    DispatchWidth(c.in(k).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      reference::MeshgridPart(c.in(k).data<const T>(), c.out(k).data<T>(), {c.out().size()}, n,
                              inner);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunMoves(KernelContext& c) {
  if (c.out().size() == 0) return KernelStatus::kDone;
  ForEachVector(c, [&](int k, int64_t n, int64_t inner) {
    StridedMove move;
    move.Axis(c.out().size() / (n * inner), 0, n * inner);
    move.Axis(n, 1, inner);
    move.Axis(inner, 0, 1);
    Move(move, SizeOf(c.in(k).tensor.dtype), c.in(k).tensor.data, c.out(k).tensor.data, MovesOf(c),
         c.pool);
  });
  return KernelStatus::kDone;
}

// Each vector gets the sum over all other axes.
void GradOfMeshgrid(GradContext& c) {
  for (int k = 0; k < c.num_operands(); ++k) {
    if (!c.wanted(k) || !c.grad(k)) continue;
    Attr::List others;
    for (int axis = 0; axis < c.num_operands(); ++axis) {
      if (axis != GridAxis(c.op(), k)) others.emplace_back(axis);
    }
    c.SetGrad(k, others.empty()
                     ? c.grad(k)
                     : c.emit().Emit("sum", {c.grad(k)}, {{"axes", Attr(std::move(others))}}));
  }
}

}  // namespace

void DefineMeshgrid(OpSet& ops) {
  ops.Define("meshgrid")
      .Group("shape")
      .Doc(
          "The coordinates of a grid: result k is vector k, repeated along all axes but its own. "
          "With indexing xy the first two axes change places.")
      .Formula("y_k[i_0, i_1, …] = vectors[k][i_k]")
      .VariadicIn("vectors", "of any lengths and dtypes")
      .WordAttr("indexing", {"ij", "xy"}, "ij", "xy: the first vector lies along axis 1")
      .Results(-1)
      .Infer(InferMeshgrid)
      .Sizes("MeshgridSizes", [](const KernelQuery& q, Words& words) { words << q.out[0]->size(); })
      .Reference("MeshgridPart", RunReference)
      .Fast(MoveKernel("moves", RunMoves))
      .TakesHalf()
      .Grad(GradOfMeshgrid)
      .AddSample({.inputs = {Floats({2}, {1, 2}), Floats({3}, {3, 4, 5})}, .num_results = 2})
      .AddSample({.inputs = {Uniform({2}, -1, 1), Uniform({3}, -1, 1, 2), Uniform({4}, -1, 1, 3)},
                  .attrs = {{"indexing", Attr::Word("xy")}},
                  .num_results = 3})
      .AddSample({.inputs = {Uniform({3}, -1, 1), RandomInts({4}, 0, 9)}, .num_results = 2})
      .AddSample({.inputs = {Uniform({3}, -1, 1)},
                  .attrs = {{"indexing", Attr::Word("xy")}},
                  .num_results = 1})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Empty({0})}, .num_results = 2});
}

}  // namespace catamaran

// ops/shape/gather.cc
//
// gather(x, indices, axis): entries of x along one axis, chosen by indices; and scatter_add, its
// gradient.

#include "catamaran/ops/shape/index_rows.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner]; y is [outer, count, inner].
struct GatherSizes {
  int64_t outer, size, inner, count;
};

template <class T, class I>
void Gather(const T* x, const I* indices, T* y, const GatherSizes& s) {
  for (int64_t o = 0; o < s.outer; ++o, x += s.size * s.inner) {
    for (int64_t k = 0; k < s.count; ++k, y += s.inner) {
      std::copy_n(x + static_cast<int64_t>(indices[k]) * s.inner, s.inner, y);
    }
  }
}

template <class T, class I>
void ScatterAdd(const T* dy, const I* indices, T* dx, const GatherSizes& s) {
  std::fill_n(dx, s.outer * s.size * s.inner, T(0));
  for (int64_t o = 0; o < s.outer; ++o, dx += s.size * s.inner) {
    for (int64_t k = 0; k < s.count; ++k, dy += s.inner) {
      T* row = dx + static_cast<int64_t>(indices[k]) * s.inner;
      for (int64_t i = 0; i < s.inner; ++i) row[i] = static_cast<T>(row[i] + dy[i]);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::GatherSizes;

// The sizes with the number of indices of this run, which a ragged dimension may change.
GatherSizes RunSizes(const KernelContext& c) {
  GatherSizes s = c.sizes<GatherSizes>();
  s.count = c.in(1).size();
  return s;
}

KernelStatus RunGather(KernelContext& c) {
  const GatherSizes s = RunSizes(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      reference::Gather(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunGatherRows(KernelContext& c) {
  const GatherSizes s = RunSizes(c);
  const auto width = static_cast<int64_t>(SizeOf(c.in(0).tensor.dtype));
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    GatherRows({s.outer, s.size, s.inner * width, s.count}, indices, c.in(0).data<const char>(),
               c.out().data<char>(), c.pool);
  });
  return KernelStatus::kDone;
}

KernelStatus RunScatterAdd(KernelContext& c) {
  const GatherSizes s = RunSizes(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchNumber(c.in(0).tensor.dtype, [&]<class T>(T) {
      reference::ScatterAdd(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunScatterAddRows(KernelContext& c) {
  const GatherSizes s = RunSizes(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    ZeroBytes(c.out(), c.pool);
    DispatchNumber(c.in(0).tensor.dtype, [&]<class T>(T) {
      AddRows({s.outer, s.size, s.inner, s.count}, indices, c.in(0).data<const T>(),
              c.out().data<T>(), c.pool);
    });
  });
  return KernelStatus::kDone;
}

void InferGather(InferContext& c) {
  int axis = 0;
  if (!c.WantTensor(0) || !c.WantDense(0) || !WantIndices(c, 1) || !c.WantMinRank(0, 1)) return;
  const Type& x = c.type(0);
  const Type& indices = c.type(1);
  if (!c.Axis("axis", x.rank(), &axis)) return;
  if (indices.is_ragged() && axis != 0) {
    c.Fail("ragged indices choose along axis 0 only");
    return;
  }
  std::vector<Dim> dims(x.dims().begin(), x.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), x.dims().begin() + axis + 1, x.dims().end());
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), indices.ragged_axis()));
}

// Where the chosen axis lies, from the shape of x (or of the result of scatter_add).
void FillSizes(const KernelQuery& q, const Shape& x, Words& words) {
  int64_t axis = q.op->attr("axis").AsInt();
  if (axis < 0) axis += x.rank();
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : x[i];
  words << outer << x[static_cast<int>(axis)] << inner << q.in[1]->size();
}

void InferScatterAdd(InferContext& c) {
  int axis = 0;
  if (!c.WantTensor(0) || !WantIndices(c, 1)) return;
  const Type& dy = c.type(0);
  const Type& indices = c.type(1);
  const int rank = dy.rank() - indices.rank() + 1;
  if (dy.dtype() == DType::kBool || rank < 1) {
    c.Fail("wants numbers whose axes include those of the indices");
    return;
  }
  Dim size;
  try {
    size = c.op().attr("size").AsDim();
  } catch (const Error& e) {
    c.Fail(e.what());
    return;
  }
  if (!c.Axis("axis", rank, &axis)) return;
  for (int i = 0; i < indices.rank(); ++i) {
    if (!c.Unify(dy.dim(axis + i), indices.dim(i), "axes of the indices")) return;
  }
  std::vector<Dim> dims(dy.dims().begin(), dy.dims().begin() + axis);
  dims.push_back(size);
  dims.insert(dims.end(), dy.dims().begin() + axis + indices.rank(), dy.dims().end());
  c.SetResult(Type::Tensor(dy.dtype(), std::move(dims)));
}

}  // namespace

void DefineGather(OpSet& ops) {
  ops.Define("gather")
      .Group("shape")
      .Doc(
          "The entries of x along an axis that the indices name, in their order; the axes of the "
          "indices take the place of that axis. An index counts from the front; one outside of the "
          "axis, and so a negative one, is an error.")
      .Formula("y[o, k, i] = x[o, indices[k], i]")
      .In("x")
      .In("indices", "integers; may be ragged where axis is 0")
      .WithAttr("axis", AttrKind::kInt, 0, "along which axis of x")
      .Traits(RaggedTraits())
      .Infer(InferGather)
      .Sizes("GatherSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, q.in[0]->shape(), words); })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Type x = c.operand(0).type();
        int64_t axis = c.attr("axis").AsInt();
        if (axis < 0) axis += x.rank();
        c.SetGrad(0, c.emit().Emit("scatter_add", {c.grad(), c.operand(1)},
                                   {{"size", x.dim(static_cast<int>(axis))}, {"axis", axis}}));
      })
      .Reference("Gather", RunGather)
      .Cost(MovedCost)
      .Fast(FastKernel("rows", RunGatherRows, nullptr))
      .TakesHalf()
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Ints({2}, {2, 0})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({4}, {4, 0, 0, 2})}})
      .AddSample({.inputs = {Uniform({2, 5, 3}, -1, 1), Ints({2, 2}, {4, 0, 0, 2}, DType::kI32)},
                  .attrs = {{"axis", 1}}})
      .AddSample(
          {.inputs = {Uniform({2, 3}, -1, 1), Ints({}, {2}, DType::kU64)}, .attrs = {{"axis", -1}}})
      .AddSample({.inputs = {RandomInts({5}, 0, 9), Ints({2}, {1, 1})}})
      .AddSample({.inputs = {RandomInts({50, 3}, 0, 9, DType::kU8), RandomInts({40}, 0, 50)}})
      .AddSample({.inputs = {Uniform({20, 4}, -1, 1), RandomInts({33}, 0, 20)}})
      .AddSample(
          {.inputs = {Uniform({20, 37}, -1, 1), RandomInts({33}, 0, 20)}, .check_gradient = false})
      .AddSample({.inputs = {Empty({2, 0}), RandomInts({3}, 0, 2)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Ints({4}, {4, 0, 0, 2})},
                  .ragged_lengths = {{}, {3, 0, 1}}});
}

void DefineScatterAdd(OpSet& ops) {
  ops.Define("scatter_add")
      .Group("shape")
      .Doc(
          "Adds entries into zeros at the places that the indices name; equal places add up, in "
          "order. The gradient of gather.")
      .Formula("y[o, j, i] = sum over k with indices[k] == j of x[o, k, i]")
      .In("x", "as gather's result")
      .In("indices", "integers")
      .RequiredAttr("size", AttrKind::kInt, "the size of the axis")
      .WithAttr("axis", AttrKind::kInt, 0, "which axis of the result")
      .Traits(RaggedTraits())
      .Infer(InferScatterAdd)
      .Sizes("GatherSizes",
             [](const KernelQuery& q, Words& words) { FillSizes(q, q.out[0]->shape(), words); })
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0, c.emit().Emit("gather", {c.grad(), c.operand(1)}, {{"axis", c.attr("axis")}}));
      })
      .Reference("ScatterAdd", RunScatterAdd)
      .Fast(FastKernel("rows", RunScatterAddRows, nullptr))
      .AddSample(
          {.inputs = {Uniform({4, 3}, -1, 1), Ints({4}, {4, 0, 0, 2})}, .attrs = {{"size", 5}}})
      .AddSample({.inputs = {Uniform({2, 2, 2, 3}, -1, 1), Ints({2, 2}, {1, 1, 1, 0})},
                  .attrs = {{"size", 3}, {"axis", 1}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0}, DType::kI64)}, .attrs = {{"size", 4}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), Ints({4}, {1, 0, 0, 1})},
                  .attrs = {{"size", 2}},
                  .ragged_lengths = {{3, 0, 1}, {3, 0, 1}}});
}

}  // namespace catamaran

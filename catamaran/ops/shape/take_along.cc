// ops/shape/take_along.cc
//
// take_along(x, indices, axis): an element of x for each index, beside it in all other axes;
// put_along_add(updates, indices, size, axis): elements added into zeros, its gradient.

#include "catamaran/ops/shape/indices.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner]; indices are [outer, count, inner].
struct AlongSizes {
  int64_t outer, size, inner, count;
};

template <class T, class I>
void TakeAlong(const T* x, const I* indices, T* y, const AlongSizes& s) {
  for (int64_t o = 0; o < s.outer; ++o, x += s.size * s.inner) {
    for (int64_t k = 0; k < s.count; ++k) {
      for (int64_t i = 0; i < s.inner; ++i) {
        *y++ = x[static_cast<int64_t>(*indices++) * s.inner + i];
      }
    }
  }
}

template <class T, class I>
void PutAlongAdd(const T* updates, const I* indices, T* y, const AlongSizes& s) {
  for (int64_t i = 0; i < s.outer * s.size * s.inner; ++i) y[i] = T(0);
  for (int64_t o = 0; o < s.outer; ++o, y += s.size * s.inner) {
    for (int64_t k = 0; k < s.count; ++k) {
      for (int64_t i = 0; i < s.inner; ++i) {
        T* to = y + static_cast<int64_t>(*indices++) * s.inner + i;
        *to = static_cast<T>(*to + *updates++);
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::AlongSizes;

void InferTakeAlong(InferContext& c) {
  int axis = 0;
  if (!c.WantMinRank(0, 1) || !WantIndices(c, 1) || !c.WantRank(1, c.type(0).rank())) return;
  const Type& x = c.type(0);
  const Type& indices = c.type(1);
  if (!c.Axis("axis", x.rank(), &axis) || !WantBehindRagged(c, x, axis)) return;
  std::vector<Dim> dims = DimsOf(x);
  dims[static_cast<size_t>(axis)] = indices.dim(axis);
  const Type result = Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis());
  if (c.UnifyTypes(indices.WithDType(x.dtype()), result, "the other dimensions")) {
    c.SetResult(result);
  }
}

void InferPutAlongAdd(InferContext& c) {
  int axis = 0;
  if (!c.WantMinRank(0, 1) || !WantIndices(c, 1)) return;
  const Type& updates = c.type(0);
  if (updates.dtype() == DType::kBool) return (void)c.Fail("wants numbers, found bool");
  if (!c.Axis("axis", updates.rank(), &axis) || !WantBehindRagged(c, updates, axis)) return;
  if (!c.UnifyTypes(updates, c.type(1).WithDType(updates.dtype()), "updates and indices")) return;
  std::vector<Dim> dims = DimsOf(updates);
  dims[static_cast<size_t>(axis)] = c.op().attr("size").AsDim();
  c.SetResult(Type::Tensor(updates.dtype(), std::move(dims), updates.ragged_axis()));
}

AlongSizes SizesOf(const Op& op, const Shape& x, const Shape& indices) {
  const int axis = StorageAxisOf(op, op.operand(0)->type);
  return {Product(x, 0, axis), x[axis], Product(x, axis + 1, x.rank()), indices[axis]};
}

void FillSizes(const AlongSizes& s, Words& words) {
  words << s.outer << s.size << s.inner << s.count;
}

KernelStatus RunTake(KernelContext& c) {
  const AlongSizes s = SizesOf(*c.op, c.in(0).shape(), c.in(1).shape());
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      reference::TakeAlong(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

// A row of x and its indices.
template <class T, class I>
void TakeRow(const T* __restrict x, const I* __restrict indices, T* __restrict y, int64_t count) {
  for (int64_t k = 0; k < count; ++k) y[k] = x[static_cast<int64_t>(indices[k])];
}

// By outer entries, on the pool.
KernelStatus RunTakeRows(KernelContext& c) {
  const AlongSizes s = SizesOf(*c.op, c.in(0).shape(), c.in(1).shape());
  const int64_t row = s.count * s.inner;
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      Split(c.pool, s.outer, 2 * row, [&](int64_t begin, int64_t end) {
        if (s.inner == 1) {
          for (int64_t o = begin; o < end; ++o) {
            TakeRow(c.in(0).data<const T>() + o * s.size, indices + o * row,
                    c.out().data<T>() + o * row, row);
          }
          return;
        }
        AlongSizes part = s;
        part.outer = end - begin;
        reference::TakeAlong(c.in(0).data<const T>() + begin * s.size * s.inner,
                             indices + begin * row, c.out().data<T>() + begin * row, part);
      });
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunPutAdd(KernelContext& c) {
  const AlongSizes s = SizesOf(*c.op, c.out().shape(), c.in(1).shape());
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchNumber(c.in(0).tensor.dtype, [&]<class T>(T) {
      reference::PutAlongAdd(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunPutAddRows(KernelContext& c) {
  const AlongSizes s = SizesOf(*c.op, c.out().shape(), c.in(1).shape());
  const int64_t row = s.count * s.inner, whole = s.size * s.inner;
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchNumber(c.in(0).tensor.dtype, [&]<class T>(T) {
      Split(c.pool, s.outer, 2 * row + whole, [&](int64_t begin, int64_t end) {
        AlongSizes part = s;
        part.outer = end - begin;
        reference::PutAlongAdd(c.in(0).data<const T>() + begin * row, indices + begin * row,
                               c.out().data<T>() + begin * whole, part);
      });
    });
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineTakeAlong(OpSet& ops) {
  ops.Define("take_along")
      .Group("shape")
      .Doc(
          "For each index the element of x that it names along the axis, at the index's own place "
          "in all other axes. An index counts from the front; one outside of the axis, and so a "
          "negative one, is an error.")
      .Formula("y[o, k, i] = x[o, indices[o, k, i], i]")
      .In("x")
      .In("indices", "integers; as x in all dimensions but the axis")
      .WithAttr("axis", AttrKind::kInt, -1, "along which axis of x")
      .Traits(RaggedTraits())
      .Infer(InferTakeAlong)
      .Sizes("AlongSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(SizesOf(*q.op, q.in[0]->shape(), q.in[1]->shape()), words);
             })
      .Reference("TakeAlong", RunTake)
      .Cost(MovedCost)
      .Fast(FastKernel("rows", RunTakeRows, nullptr))
      .TakesHalf()
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Type& x = c.op().operand(0)->type;
        const int axis = AxisOf(c.attr("axis").AsInt(), x.rank());
        c.SetGrad(0, c.emit().Emit("put_along_add", {c.grad(), c.operand(1)},
                                   {{"size", x.dim(axis)}, {"axis", axis}}));
      })
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Ints({2, 2}, {2, 0, 1, 1})}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), RandomInts({6, 3}, 0, 4, DType::kI32)},
                  .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Uniform({2, 4, 3}, -1, 1), RandomInts({2, 1, 3}, 0, 4, DType::kU64)},
                  .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {RandomInts({5}, 0, 9), Ints({2}, {4, 1})}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 2}, DType::kI64)}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1), Empty({2, 0}, DType::kI64)}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), RandomInts({6, 2}, 0, 3)},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefinePutAlongAdd(OpSet& ops) {
  ops.Define("put_along_add")
      .Group("shape")
      .Doc(
          "Adds each element into zeros at the place that its index names along the axis; equal "
          "places add up, in order. The gradient of take_along.")
      .Formula("y = 0; y[o, indices[o, k, i], i] += updates[o, k, i]")
      .In("updates", "as take_along's result")
      .In("indices", "integers, one for each element")
      .RequiredAttr("size", AttrKind::kInt, "the size of the axis")
      .WithAttr("axis", AttrKind::kInt, -1, "which axis")
      .Traits(RaggedTraits())
      .Infer(InferPutAlongAdd)
      .Sizes("AlongSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(SizesOf(*q.op, q.out[0]->shape(), q.in[1]->shape()), words);
             })
      .Reference("PutAlongAdd", RunPutAdd)
      .Fast(FastKernel("rows", RunPutAddRows, nullptr))
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(
            0, c.emit().Emit("take_along", {c.grad(), c.operand(1)}, {{"axis", c.attr("axis")}}));
      })
      .AddSample({.inputs = {Floats({2, 2}, {1, 2, 3, 4}), Ints({2, 2}, {2, 0, 1, 1})},
                  .attrs = {{"size", 3}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), RandomInts({6, 3}, 0, 4, DType::kI32)},
                  .attrs = {{"size", 4}, {"axis", 0}}})
      .AddSample({.inputs = {RandomInts({3}, 0, 9), Ints({3}, {1, 1, 0})}, .attrs = {{"size", 2}}})
      .AddSample({.inputs = {Empty({2, 0}), Empty({2, 0}, DType::kI64)}, .attrs = {{"size", 3}}})
      .AddSample({.inputs = {Uniform({6, 2}, -1, 1), RandomInts({6, 2}, 0, 3)},
                  .attrs = {{"size", 3}},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

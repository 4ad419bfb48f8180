// ops/shape/index_select.cc
//
// index_select(x, indices, axis): entries of one axis by a vector of indices; index_add(x,
// indices, updates, axis): x with entries added.

#include "catamaran/ops/shape/index_rows.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner]; what the indices stand for is [outer, count, inner].
struct IndexSizes {
  int64_t outer, size, inner, count;
};

template <class T, class I>
void IndexSelect(const T* x, const I* indices, T* y, const IndexSizes& s) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < s.count; ++k) {
      const T* row = x + (o * s.size + static_cast<int64_t>(indices[k])) * s.inner;
      for (int64_t i = 0; i < s.inner; ++i) *y++ = row[i];
    }
  }
}

template <class T, class I>
void IndexAdd(const T* x, const I* indices, const T* updates, T* y, const IndexSizes& s) {
  for (int64_t i = 0; i < s.outer * s.size * s.inner; ++i) y[i] = x[i];
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < s.count; ++k) {
      T* row = y + (o * s.size + static_cast<int64_t>(indices[k])) * s.inner;
      for (int64_t i = 0; i < s.inner; ++i) row[i] = static_cast<T>(row[i] + *updates++);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::IndexSizes;

// x with `count` entries along the axis. Refuses ragged values at or before it.
bool SelectedDims(InferContext& c, std::vector<Dim>* dims) {
  int axis = 0;
  if (!c.WantMinRank(0, 1) || !WantIndices(c, 1) || !c.WantDense(1) || !c.WantRank(1, 1)) {
    return false;
  }
  const Type& x = c.type(0);
  if (!c.Axis("axis", x.rank(), &axis) || !WantBehindRagged(c, x, axis)) return false;
  *dims = DimsOf(x);
  (*dims)[static_cast<size_t>(axis)] = c.type(1).dim(0);
  return true;
}

IndexSizes SizesOf(const Op& op, const Shape& x, const Shape& indices) {
  const int axis = StorageAxisOf(op, op.operand(0)->type);
  return {Product(x, 0, axis), x[axis], Product(x, axis + 1, x.rank()), indices.num_elements()};
}

void FillSizes(const KernelQuery& q, Words& words) {
  const IndexSizes s = SizesOf(*q.op, q.in[0]->shape(), q.in[1]->shape());
  words << s.outer << s.size << s.inner << s.count;
}

IndexSizes SizesNow(const KernelContext& c) {
  return SizesOf(*c.op, c.in(0).shape(), c.in(1).shape());
}

KernelStatus RunSelect(KernelContext& c) {
  const IndexSizes s = SizesNow(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      reference::IndexSelect(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunSelectRows(KernelContext& c) {
  const IndexSizes s = SizesNow(c);
  const auto width = static_cast<int64_t>(SizeOf(c.in(0).tensor.dtype));
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    GatherRows({s.outer, s.size, s.inner * width, s.count}, indices, c.in(0).data<const char>(),
               c.out().data<char>(), c.pool);
  });
  return KernelStatus::kDone;
}

KernelStatus RunAdd(KernelContext& c) {
  const IndexSizes s = SizesNow(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchNumber(c.in(0).tensor.dtype, [&]<class T>(T) {
      reference::IndexAdd(c.in(0).data<const T>(), indices, c.in(2).data<const T>(),
                          c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunAddRows(KernelContext& c) {
  const IndexSizes s = SizesNow(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    CopyBytes(c.in(0), c.out(), c.pool);
    DispatchNumber(c.in(0).tensor.dtype, [&]<class T>(T) {
      AddRows({s.outer, s.size, s.inner, s.count}, indices, c.in(2).data<const T>(),
              c.out().data<T>(), c.pool);
    });
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineIndexSelect(OpSet& ops) {
  ops.Define("index_select")
      .Group("shape")
      .Doc(
          "The entries of an axis that a vector of indices names, in its order. An index counts "
          "from the front; one outside of the axis, and so a negative one, is an error. gather "
          "takes indices of any rank.")
      .Formula("y[…, k, …] = x[…, indices[k], …]")
      .In("x")
      .In("indices", "a vector of integers")
      .WithAttr("axis", AttrKind::kInt, 0, "along which axis of x")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        std::vector<Dim> dims;
        if (!SelectedDims(c, &dims)) return;
        c.SetResult(Type::Tensor(c.type(0).dtype(), std::move(dims), c.type(0).ragged_axis()));
      })
      .Sizes("IndexSizes", FillSizes)
      .Reference("IndexSelect", RunSelect)
      .Cost(MovedCost)
      .Fast(FastKernel("rows", RunSelectRows, nullptr))
      .TakesHalf()
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Var zeros = c.emit().Emit("zeros_like", {c.operand(0)});
        c.SetGrad(0, c.emit().Emit("index_add", {zeros, c.operand(1), c.grad()},
                                   {{"axis", c.attr("axis")}}));
      })
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Ints({2}, {2, 0})}})
      .AddSample({.inputs = {Uniform({2, 5, 3}, -1, 1), Ints({3}, {4, 0, 0}, DType::kI32)},
                  .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({2, 5}, -1, 1), Ints({3}, {4, 1, 0}, DType::kU64)},
                  .attrs = {{"axis", -1}}})
      .AddSample({.inputs = {Bools({2}, {true, false}), Ints({3}, {1, 1, 0})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0}, DType::kI64)}})
      .AddSample({.inputs = {Empty({0, 3}), Ints({2}, {2, 1})}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Ints({2}, {2, 1})},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}, {}},
                  .note = "ragged"});
}

void DefineIndexAdd(OpSet& ops) {
  ops.Define("index_add")
      .Group("shape")
      .Doc(
          "x with `updates` added to the entries of an axis that the indices name; equal ones add "
          "up, in order. An index outside of the axis, and so a negative one, is an error.")
      .Formula("y[…, j, …] = x[…, j, …] + sum over k with indices[k] == j of updates[…, k, …]")
      .In("x")
      .In("indices", "a vector of integers")
      .In("updates", "as index_select's result")
      .WithAttr("axis", AttrKind::kInt, 0, "along which axis of x")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        std::vector<Dim> dims;
        if (!SelectedDims(c, &dims) || !c.WantTensor(2)) return;
        if (c.type(0).dtype() == DType::kBool) return (void)c.Fail("wants numbers, found bool");
        const Type wanted =
            Type::Tensor(c.type(0).dtype(), std::move(dims), c.type(0).ragged_axis());
        if (c.UnifyTypes(c.type(2), wanted, "updates and what is selected")) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("IndexSizes", FillSizes)
      .Reference("IndexAdd", RunAdd)
      .Fast(FastKernel("rows", RunAddRows, nullptr))
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.grad());
        if (c.wanted(2)) {
          c.SetGrad(2, c.emit().Emit("index_select", {c.grad(), c.operand(1)},
                                     {{"axis", c.attr("axis")}}));
        }
      })
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Ints({2}, {2, 2}),
                             Floats({2, 2}, {10, 20, 30, 40})}})
      .AddSample({.inputs = {Uniform({2, 5, 3}, -1, 1), Ints({3}, {4, 0, 0}, DType::kI32),
                             Uniform({2, 3, 3}, -1, 1, 2)},
                  .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({4, 130}, -1, 1), Ints({3}, {3, 1, 3}, DType::kU64),
                             Uniform({3, 130}, -1, 1, 2)},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({4}, 0, 9), Ints({2}, {1, 1}), RandomInts({2}, 0, 9)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0}, DType::kI64), Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Ints({2}, {2, 1}), Uniform({6, 2}, -1, 1, 2)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}, {}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

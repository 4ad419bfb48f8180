// ops/shape/gather_nd.cc
//
// gather_nd(x, indices): entries of x by tuples of indices; scatter_nd_add(updates, indices,
// shape): entries added into zeros, its gradient.

#include <fmt/format.h>

#include "catamaran/ops/shape/indices.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

// indices are [count, depth]; each tuple names a stretch of `inner` elements of x.
struct TupleSizes {
  int64_t count, depth, inner;
  int64_t dims[8];  // of x; the tuples stand for the first `depth`
};

// The number of the stretch that the tuple names.
template <class I>
int64_t TuplePosition(const I* tuple, const TupleSizes& s) {
  int64_t at = 0;
  for (int64_t d = 0; d < s.depth; ++d) at = at * s.dims[d] + static_cast<int64_t>(tuple[d]);
  return at;
}

template <class T, class I>
void GatherNd(const T* x, const I* indices, T* y, const TupleSizes& s) {
  for (int64_t k = 0; k < s.count; ++k) {
    const T* from = x + TuplePosition(indices + k * s.depth, s) * s.inner;
    for (int64_t i = 0; i < s.inner; ++i) *y++ = from[i];
  }
}

template <class T, class I>
void ScatterNdAdd(const T* updates, const I* indices, T* y, const TupleSizes& s) {
  int64_t whole = s.inner;
  for (int64_t d = 0; d < s.depth; ++d) whole *= s.dims[d];
  for (int64_t i = 0; i < whole; ++i) y[i] = T(0);
  for (int64_t k = 0; k < s.count; ++k) {
    T* to = y + TuplePosition(indices + k * s.depth, s) * s.inner;
    for (int64_t i = 0; i < s.inner; ++i) to[i] = static_cast<T>(to[i] + *updates++);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::TupleSizes;

// The number of indices in a tuple: the last axis of the indices, a constant of at most `rank`.
bool TupleDepth(InferContext& c, int rank, int* depth) {
  if (!WantIndices(c, 1) || !c.WantMinRank(1, 1)) return false;
  const Type& indices = c.type(1);
  const Dim& last = indices.dim(indices.rank() - 1);
  if (!last.is_constant() || last.constant() < 1 || last.constant() > rank) {
    return c.Fail(
        fmt::format("the last axis of the indices is a tuple of 1 to {} of them, found {}", rank,
                    last.ToString()));
  }
  *depth = static_cast<int>(last.constant());
  return true;
}

void InferGatherNd(InferContext& c) {
  int depth = 0;
  if (!c.WantTensor(0) || !c.WantDense(0) || !TupleDepth(c, c.type(0).rank(), &depth)) return;
  const Type& x = c.type(0);
  const Type& indices = c.type(1);
  std::vector<Dim> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), x.dims().begin() + depth, x.dims().end());
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return (void)c.Fail(fmt::format("the result would have {} dimensions", dims.size()));
  }
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), indices.ragged_axis()));
}

void InferScatterNdAdd(InferContext& c) {
  int depth = 0;
  if (!c.WantTensor(0)) return;
  const std::vector<Dim> shape = c.op().attr("shape").AsDims();
  if (!TupleDepth(c, static_cast<int>(shape.size()), &depth)) return;
  const Type& updates = c.type(0);
  const Type& indices = c.type(1);
  if (updates.dtype() == DType::kBool) return (void)c.Fail("wants numbers, found bool");
  std::vector<Dim> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), shape.begin() + depth, shape.end());
  if (c.UnifyTypes(updates, Type::Tensor(updates.dtype(), std::move(dims), indices.ragged_axis()),
                   "updates and what the indices name")) {
    c.SetResult(Type::Tensor(updates.dtype(), shape));
  }
}

TupleSizes SizesOf(const Shape& x, const Shape& indices) {
  TupleSizes s{};
  s.depth = indices[indices.rank() - 1];
  s.count = Product(indices, 0, indices.rank() - 1);
  s.inner = Product(x, static_cast<int>(s.depth), x.rank());
  for (int axis = 0; axis < x.rank(); ++axis) s.dims[axis] = x[axis];
  return s;
}

void FillSizes(const TupleSizes& s, Words& words) {
  words << s.count << s.depth << s.inner;
  for (int64_t dim : s.dims) words << dim;
}

// Calls f(indices) with their own type after checking every one.
template <class F>
void WithTuples(const Slot& indices, const TupleSizes& s, F&& f) {
  DispatchIndex(
      indices.tensor.dtype,
      [&]<class I>(I) {
        const I* list = indices.data<const I>();
        for (int64_t k = 0; k < s.count; ++k) {
          for (int64_t d = 0; d < s.depth; ++d) {
            const I index = list[k * s.depth + d];
            if (static_cast<uint64_t>(static_cast<int64_t>(index)) >=
                static_cast<uint64_t>(s.dims[d])) {
              Fail(ErrorCode::kBadData,
                   "index {} at position {} of tuple {} is outside of the axis of {}", index, d, k,
                   s.dims[d]);
            }
          }
        }
        f(list);
      },
      "indices");
}

KernelStatus RunGatherNd(KernelContext& c) {
  const TupleSizes s = SizesOf(c.in(0).shape(), c.in(1).shape());
  WithTuples(c.in(1), s, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      reference::GatherNd(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunGatherNdCopies(KernelContext& c) {
  const TupleSizes s = SizesOf(c.in(0).shape(), c.in(1).shape());
  WithTuples(c.in(1), s, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = c.in(0).data<const T>();
      T* y = c.out().data<T>();
      Split(c.pool, s.count, s.inner + 8, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const T* from = x + reference::TuplePosition(indices + k * s.depth, s) * s.inner;
          if (s.inner == 1) {
            y[k] = *from;
          } else {
            std::copy_n(from, s.inner, y + k * s.inner);
          }
        }
      });
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunScatterNdAdd(KernelContext& c) {
  const TupleSizes s = SizesOf(c.out().shape(), c.in(1).shape());
  WithTuples(c.in(1), s, [&](const auto* indices) {
    DispatchNumber(c.in(0).tensor.dtype, [&]<class T>(T) {
      reference::ScatterNdAdd(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineGatherNd(OpSet& ops) {
  ops.Define("gather_nd")
      .Group("shape")
      .Doc(
          "The entries of x that tuples of indices name. The last axis of the indices holds the "
          "tuples; one of k indices stands for the first k axes of x. An index counts from the "
          "front; one outside of its axis, and so a negative one, is an error.")
      .Formula("y[…, i] = x[indices[…, 0], …, indices[…, k - 1], i]")
      .In("x")
      .In("indices", "integers; may be ragged")
      .Traits(RaggedTraits())
      .Infer(InferGatherNd)
      .Sizes("TupleSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(SizesOf(q.in[0]->shape(), q.in[1]->shape()), words);
             })
      .Reference("GatherNd", RunGatherNd)
      .Cost(MovedCost)
      .Fast(FastKernel("copies", RunGatherNdCopies, nullptr))
      .TakesHalf()
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0, c.emit().Emit("scatter_nd_add", {c.grad(), c.operand(1)},
                                   {{"shape", Attr::Dims(DimsOf(c.operand(0).type()))}}));
      })
      .AddSample({.inputs = {Floats({2, 2}, {1, 2, 3, 4}), Ints({2, 2}, {0, 1, 1, 0})}})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -1, 1), Ints({3, 2}, {2, 3, 0, 0, 2, 3})}})
      .AddSample({.inputs = {Uniform({3, 4}, -1, 1), Ints({2, 2, 1}, {2, 0, 0, 1}, DType::kI32)}})
      .AddSample({.inputs = {RandomInts({3, 4}, 0, 9), Ints({2}, {2, 3}, DType::kU64)}})
      .AddSample({.inputs = {Uniform({3, 4}, -1, 1), Empty({0, 2}, DType::kI64)}})
      .AddSample({.inputs = {Uniform({3, 4}, -1, 1), Ints({4, 1}, {2, 0, 0, 1})},
                  .ragged_lengths = {{}, {3, 0, 1}},
                  .note = "ragged"});
}

void DefineScatterNdAdd(OpSet& ops) {
  ops.Define("scatter_nd_add")
      .Group("shape")
      .Doc(
          "Adds entries into zeros at the places that tuples of indices name; equal places add up, "
          "in order. The gradient of gather_nd.")
      .Formula("y = 0; y[indices[…, 0], …, indices[…, k - 1], i] += updates[…, i]")
      .In("updates", "as gather_nd's result")
      .In("indices", "integers")
      .RequiredAttr("shape", AttrKind::kInts, "the dimensions of the result")
      .Traits(RaggedTraits())
      .Infer(InferScatterNdAdd)
      .Sizes("TupleSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(SizesOf(q.out[0]->shape(), q.in[1]->shape()), words);
             })
      .Reference("ScatterNdAdd", RunScatterNdAdd)
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0, c.emit().Emit("gather_nd", {c.grad(), c.operand(1)}));
      })
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Ints({3, 2}, {0, 1, 1, 0, 0, 1})},
                  .attrs = {{"shape", Attr::Ints({2, 2})}}})
      .AddSample({.inputs = {Uniform({3, 5}, -1, 1), Ints({3, 1}, {2, 0, 2}, DType::kI32)},
                  .attrs = {{"shape", Attr::Ints({3, 5})}}})
      .AddSample({.inputs = {Empty({0, 5}), Empty({0, 1}, DType::kI64)},
                  .attrs = {{"shape", Attr::Ints({3, 5})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), Ints({4, 1}, {1, 0, 0, 1})},
                  .attrs = {{"shape", Attr::Ints({2, 3})}},
                  .ragged_lengths = {{3, 0, 1}, {3, 0, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

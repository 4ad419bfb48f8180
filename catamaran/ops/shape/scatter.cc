// ops/shape/scatter.cc
//
// scatter(x, indices, updates, axis): x with entries of one axis replaced; and scatter_grad, what
// its updates get back.

#include "catamaran/ops/shape/index_rows.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner]; updates are [outer, count, inner].
struct ScatterSizes {
  int64_t outer, size, inner, count;
};

template <class T, class I>
void Scatter(const T* x, const I* indices, const T* updates, T* y, const ScatterSizes& s) {
  for (int64_t i = 0; i < s.outer * s.size * s.inner; ++i) y[i] = x[i];
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < s.count; ++k) {
      T* row = y + (o * s.size + static_cast<int64_t>(indices[k])) * s.inner;
      for (int64_t i = 0; i < s.inner; ++i) row[i] = *updates++;
    }
  }
}

// An update that a later one replaced has no part in the result.
template <class T, class I>
void ScatterGrad(const T* dy, const I* indices, T* y, const ScatterSizes& s) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < s.count; ++k) {
      bool replaced = false;
      for (int64_t j = k + 1; j < s.count; ++j) replaced |= indices[j] == indices[k];
      const T* row = dy + (o * s.size + static_cast<int64_t>(indices[k])) * s.inner;
      for (int64_t i = 0; i < s.inner; ++i) *y++ = replaced ? T(0) : row[i];
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::ScatterSizes;

// What gather(x, indices, axis) would be.
bool GatheredType(InferContext& c, Type* type) {
  int axis = 0;
  if (!c.WantMinRank(0, 1) || !WantIndices(c, 1)) return false;
  const Type& x = c.type(0);
  if (!c.Axis("axis", x.rank(), &axis)) return false;
  std::vector<Dim> dims(x.dims().begin(), x.dims().begin() + axis);
  dims.insert(dims.end(), c.type(1).dims().begin(), c.type(1).dims().end());
  dims.insert(dims.end(), x.dims().begin() + axis + 1, x.dims().end());
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return c.Fail("the result would have " + std::to_string(dims.size()) + " dimensions");
  }
  *type = Type::Tensor(x.dtype(), std::move(dims));
  return true;
}

ScatterSizes SizesOf(const Op& op, const Shape& x, const Shape& indices) {
  const int axis = IndexedAxis(op, x.rank());
  return {Product(x, 0, axis), x[axis], Product(x, axis + 1, x.rank()), indices.num_elements()};
}

void FillSizes(const KernelQuery& q, Words& words) {
  const ScatterSizes s = SizesOf(*q.op, q.in[0]->shape(), q.in[1]->shape());
  words << s.outer << s.size << s.inner << s.count;
}

ScatterSizes SizesNow(const KernelContext& c) {
  return SizesOf(*c.op, c.in(0).shape(), c.in(1).shape());
}

KernelStatus RunScatter(KernelContext& c) {
  const ScatterSizes s = SizesNow(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      reference::Scatter(c.in(0).data<const T>(), indices, c.in(2).data<const T>(),
                         c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunScatterRows(KernelContext& c) {
  const ScatterSizes s = SizesNow(c);
  const int64_t bytes = s.inner * static_cast<int64_t>(SizeOf(c.in(0).tensor.dtype));
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    CopyBytes(c.in(0), c.out(), c.pool);
    if (bytes == 0) return;
    Split(c.pool, s.outer, s.count * (bytes / 4 + 8), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const char* from = c.in(2).data<const char>() + o * s.count * bytes;
        char* to = c.out().data<char>() + o * s.size * bytes;
        for (int64_t k = 0; k < s.count; ++k, from += bytes) {
          std::memcpy(to + static_cast<int64_t>(indices[k]) * bytes, from,
                      static_cast<size_t>(bytes));
        }
      }
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunScatterGrad(KernelContext& c) {
  const ScatterSizes s = SizesNow(c);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      reference::ScatterGrad(c.in(0).data<const T>(), indices, c.out().data<T>(), s);
    });
  });
  return KernelStatus::kDone;
}

// Scratch: for each entry of the axis, the last update of it.
KernelStatus RunScatterGradRows(KernelContext& c) {
  const ScatterSizes s = SizesNow(c);
  const int64_t bytes = s.inner * static_cast<int64_t>(SizeOf(c.in(0).tensor.dtype));
  auto* last = static_cast<int64_t*>(c.scratch);
  WithIndices(c.in(1), s.size, [&](const auto* indices) {
    for (int64_t k = 0; k < s.count; ++k) last[static_cast<int64_t>(indices[k])] = k;
    if (bytes == 0) return;
    Split(c.pool, s.outer * s.count, bytes / 4 + 8, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t o = at / s.count, k = at % s.count;
        const auto index = static_cast<int64_t>(indices[k]);
        char* to = c.out().data<char>() + at * bytes;
        if (last[index] == k) {
          std::memcpy(to, c.in(0).data<const char>() + (o * s.size + index) * bytes,
                      static_cast<size_t>(bytes));
        } else {
          std::memset(to, 0, static_cast<size_t>(bytes));
        }
      }
    });
  });
  return KernelStatus::kDone;
}

void GradOfScatter(GradContext& c) {
  const std::vector<NamedAttr> axis = {{"axis", c.attr("axis")}};
  if (c.wanted(0)) {
    const Var zeros = c.emit().Emit("zeros_like", {c.operand(2)});
    c.SetGrad(0, c.emit().Emit("scatter", {c.grad(), c.operand(1), zeros}, axis));
  }
  if (c.wanted(2)) {
    c.SetGrad(2, c.emit().Emit("scatter_grad", {c.grad(), c.operand(1)}, axis));
  }
}

}  // namespace

void DefineScatter(OpSet& ops) {
  ops.Define("scatter")
      .Group("shape")
      .Doc(
          "x with the entries of an axis that the indices name replaced by `updates`; of equal "
          "indices the last one wins. An index counts from the front; one outside of the axis, and "
          "so a negative one, is an error.")
      .Formula("y = x; y[…, indices[k], …] = updates[…, k, …], k = 0, 1, …")
      .In("x")
      .In("indices", "integers")
      .In("updates", "as the result of gather(x, indices)")
      .WithAttr("axis", AttrKind::kInt, 0, "along which axis of x")
      .Infer([](InferContext& c) {
        Type wanted;
        if (!GatheredType(c, &wanted) || !c.WantTensor(2)) return;
        if (c.UnifyTypes(c.type(2), wanted, "updates and what the indices name")) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("ScatterSizes", FillSizes)
      .Reference("Scatter", RunScatter)
      .Fast(FastKernel("rows", RunScatterRows, nullptr))
      .TakesHalf()
      .Grad(GradOfScatter)
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Ints({1}, {2}),
                             Floats({1, 2}, {10, 20})}})
      .AddSample(
          {.inputs = {Uniform({5, 3}, -1, 1), Ints({4}, {2, 4, 2, 0}), Uniform({4, 3}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({2, 5}, -1, 1), Ints({2, 2}, {2, 4, 2, 2}, DType::kI32),
                             Uniform({2, 2, 2}, -1, 1, 2)},
                  .attrs = {{"axis", -1}}})
      .AddSample({.inputs = {RandomInts({5}, 0, 9, DType::kU8), Ints({}, {3}, DType::kU64),
                             RandomInts({}, 0, 9, DType::kU8)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0}, DType::kI64), Empty({0, 3})}})
      .AddSample({.inputs = {Empty({3, 0}), Ints({2}, {1, 0}), Empty({2, 0})}});
}

void DefineScatterGrad(OpSet& ops) {
  Kernel rows = FastKernel("rows", RunScatterGradRows, nullptr);
  rows.scratch = [](const KernelQuery& q) {
    const Shape& x = q.in[0]->shape();
    return static_cast<size_t>(x[IndexedAxis(*q.op, x.rank())]) * sizeof(int64_t);
  };
  ops.Define("scatter_grad")
      .Group("shape")
      .Doc(
          "The entries that the indices name, as gather; zeros for an index that comes again "
          "later. "
          "The gradient of scatter's updates.")
      .Formula("y[…, k, …] = g[…, indices[k], …] unless indices[j] == indices[k] for a j > k")
      .In("g", "the gradient of scatter's result")
      .In("indices", "integers")
      .WithAttr("axis", AttrKind::kInt, 0, "along which axis of g")
      .Infer([](InferContext& c) {
        Type type;
        if (GatheredType(c, &type)) c.SetResult(type);
      })
      .Sizes("ScatterSizes", FillSizes)
      .Reference("ScatterGrad", RunScatterGrad)
      .Fast(std::move(rows))
      .TakesHalf()
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        const Var zeros = c.emit().Emit("zeros_like", {c.operand(0)});
        c.SetGrad(0, c.emit().Emit("scatter", {zeros, c.operand(1), c.grad()},
                                   {{"axis", c.attr("axis")}}));
      })
      .AddSample({.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Ints({3}, {2, 0, 2})}})
      .AddSample({.inputs = {Uniform({2, 5}, -1, 1), Ints({2, 2}, {2, 4, 2, 2}, DType::kI32)},
                  .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Empty({0}, DType::kI64)}});
}

}  // namespace catamaran

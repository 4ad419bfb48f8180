// ops/shape/stack.cc
//
// stack(parts…, axis): tensors of one shape along a new axis; a, b, … = unstack(x, axis): the
// entries of an axis, without it.

#include <fmt/format.h>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

// One side is [outer, count, inner]; the other `count` tensors of [outer, inner].
struct StackSizes {
  int64_t outer, count, inner;
};

template <class T>
void StackPart(const T* part, T* y, const StackSizes& s, int64_t k) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i)
      y[(o * s.count + k) * s.inner + i] = part[o * s.inner + i];
  }
}

template <class T>
void UnstackPart(const T* x, T* part, const StackSizes& s, int64_t k) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i)
      part[o * s.inner + i] = x[(o * s.count + k) * s.inner + i];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::StackSizes;

void InferStack(InferContext& c) {
  if (c.num_operands() == 0) return (void)c.Fail("wants at least one tensor");
  if (!c.WantTensor(0)) return;
  const Type first = c.type(0);
  int axis = 0;
  if (first.rank() == kMaxRank) {
    return (void)c.Fail(fmt::format("a tensor has at most {} dimensions", kMaxRank));
  }
  if (!c.Axis("axis", first.rank() + 1, &axis) || !WantBehindRagged(c, first, axis)) return;
  for (int i = 1; i < c.num_operands(); ++i) {
    if (!c.WantSameDType(0, i) || !c.WantRank(i, first.rank())) return;
    if (!c.UnifyTypes(first, c.type(i), "the shapes")) return;
  }
  std::vector<Dim> dims = DimsOf(first);
  dims.insert(dims.begin() + axis, Dim(c.num_operands()));
  c.SetResult(Type::Tensor(first.dtype(), std::move(dims), first.ragged_axis()));
}

void InferUnstack(InferContext& c) {
  if (!c.WantMinRank(0, 1)) return;
  const Type& x = c.type(0);
  int axis = 0;
  if (!c.Axis("axis", x.rank(), &axis) || !WantBehindRagged(c, x, axis)) return;
  const int count = c.op().num_results();
  if (!c.Unify(x.dim(axis), Dim(count), "the axis and the number of results")) return;
  std::vector<Dim> dims = DimsOf(x);
  dims.erase(dims.begin() + axis);
  for (int i = 0; i < count; ++i) {
    c.SetResult(i, Type::Tensor(x.dtype(), dims, x.ragged_axis()));
  }
}

// `whole` has the axis; both ops name it as an axis of that side.
StackSizes SizesOf(const Op& op, const Type& type, const Shape& whole) {
  const int axis = StorageAxisOf(op, type);
  return {Product(whole, 0, axis), whole[axis], Product(whole, axis + 1, whole.rank())};
}
StackSizes StackSizesOf(const Op& op, const Shape& y) { return SizesOf(op, op.result()->type, y); }
StackSizes UnstackSizesOf(const Op& op, const Shape& x) {
  return SizesOf(op, op.operand(0)->type, x);
}

void FillSizes(const StackSizes& s, Words& words) { words << s.outer << s.count << s.inner; }

KernelStatus RunStackReference(KernelContext& c) {
  const StackSizes s = StackSizesOf(*c.op, c.out().shape());
  DispatchWidth(c.out().tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int k = 0; k < c.num_ins; ++k) {
      reference::StackPart(c.in(k).data<const T>(), c.out().data<T>(), s, k);
    }
  });
  return KernelStatus::kDone;
}

KernelStatus RunUnstackReference(KernelContext& c) {
  const StackSizes s = UnstackSizesOf(*c.op, c.in(0).shape());
  DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int k = 0; k < c.num_outs; ++k) {
      reference::UnstackPart(c.in(0).data<const T>(), c.out(k).data<T>(), s, k);
    }
  });
  return KernelStatus::kDone;
}

KernelStatus RunStack(KernelContext& c) {
  const StackSizes s = StackSizesOf(*c.op, c.out().shape());
  const int64_t bytes = s.inner * static_cast<int64_t>(SizeOf(c.out().tensor.dtype));
  RowMover mover(s.outer, c, MovesOf(c));
  for (int k = 0; k < c.num_ins; ++k) {
    mover.Add({c.in(k).data<const char>(), c.out().data<char>() + k * bytes, bytes, s.count * bytes,
               bytes});
  }
  return KernelStatus::kDone;
}

KernelStatus RunUnstack(KernelContext& c) {
  const StackSizes s = UnstackSizesOf(*c.op, c.in(0).shape());
  const int64_t bytes = s.inner * static_cast<int64_t>(SizeOf(c.in(0).tensor.dtype));
  RowMover mover(s.outer, c, MovesOf(c));
  for (int k = 0; k < c.num_outs; ++k) {
    mover.Add({c.in(0).data<const char>() + k * bytes, c.out(k).data<char>(), s.count * bytes,
               bytes, bytes});
  }
  return KernelStatus::kDone;
}

void GradOfStack(GradContext& c) {
  const Var g = c.grad();
  const std::vector<Var> parts =
      c.emit().EmitMany("unstack", {&g, 1}, c.num_operands(), {{"axis", c.attr("axis")}});
  for (int i = 0; i < c.num_operands(); ++i) {
    if (c.wanted(i)) c.SetGrad(i, parts[static_cast<size_t>(i)]);
  }
}

void GradOfUnstack(GradContext& c) {
  std::vector<Var> parts;
  for (int i = 0; i < c.op().num_results(); ++i) {
    parts.push_back(c.grad(i) ? c.grad(i) : c.emit().Emit("zeros_like", {c.result(i)}));
  }
  c.SetGrad(0, c.emit().Emit("stack", parts, {{"axis", c.attr("axis")}}));
}

}  // namespace

void DefineStack(OpSet& ops) {
  ops.Define("stack")
      .Group("shape")
      .Doc("Tensors of one shape as the entries of a new axis.")
      .Formula("y[…, k, …] = parts[k][…]")
      .VariadicIn("parts")
      .WithAttr("axis", AttrKind::kInt, 0, "the new axis, of the result")
      .Traits(RaggedTraits())
      .Infer(InferStack)
      .Sizes("StackSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(StackSizesOf(*q.op, q.out[0]->shape()), words);
             })
      .Reference("StackPart", RunStackReference)
      .Fast(MoveKernel("copies", RunStack))
      .TakesHalf()
      .Grad(GradOfStack)
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Floats({3}, {4, 5, 6})}})
      .AddSample(
          {.inputs = {Uniform({2, 3}, -1, 1), Uniform({2, 3}, -1, 1, 2), Uniform({2, 3}, -1, 1, 3)},
           .attrs = {{"axis", -1}}})
      .AddSample({.inputs = {Uniform({5, 33}, -1, 1), Uniform({5, 33}, -1, 1, 2)},
                  .attrs = {{"axis", 1}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({}, -1, 1), Uniform({}, -1, 1, 2)}})
      .AddSample({.inputs = {RandomInts({4}, 0, 9)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3})}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Uniform({6, 3}, -1, 1, 2)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefineUnstack(OpSet& ops) {
  ops.Define("unstack")
      .Group("shape")
      .Doc("The entries of an axis as tensors without it, as many as the axis is long.")
      .Formula("y_k[…] = x[…, k, …]")
      .In("x")
      .WithAttr("axis", AttrKind::kInt, 0, "negative counts from the end")
      .Results(-1)
      .Traits(RaggedTraits())
      .Infer(InferUnstack)
      .Sizes("StackSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(UnstackSizesOf(*q.op, q.in[0]->shape()), words);
             })
      .Reference("UnstackPart", RunUnstackReference)
      .Fast(MoveKernel("copies", RunUnstack))
      .TakesHalf()
      .Grad(GradOfUnstack)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, .num_results = 2})
      .AddSample({.inputs = {Uniform({2, 4, 3}, -1, 1)}, .attrs = {{"axis", -2}}, .num_results = 4})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)}, .attrs = {{"axis", 1}}, .num_results = 3})
      .AddSample({.inputs = {RandomInts({2}, 0, 9)}, .num_results = 2})
      .AddSample({.inputs = {Empty({0, 2})}, .attrs = {{"axis", 1}}, .num_results = 2})
      .AddSample({.inputs = {Uniform({6, 2}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .num_results = 2,
                  .note = "ragged"});
}

}  // namespace catamaran

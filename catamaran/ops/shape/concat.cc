// ops/shape/concat.cc
//
// concat(parts…, axis): tensors one after another along an axis.

#include <fmt/format.h>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

struct ConcatSizes {
  int64_t outer;   // elements before the axis
  int64_t length;  // of the result, from the axis on
};

// Puts one part, of `width` elements from the axis on, at `offset`.
template <class T>
void ConcatPart(const T* part, T* y, const ConcatSizes& s, int64_t offset, int64_t width) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < width; ++i) y[o * s.length + offset + i] = part[o * width + i];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

using reference::ConcatSizes;

void InferConcat(InferContext& c) {
  if (c.num_operands() == 0) return (void)c.Fail("wants at least one tensor");
  if (!c.WantMinRank(0, 1)) return;
  const Type& first = c.type(0);
  int axis = 0;
  if (!c.Axis("axis", first.rank(), &axis)) return;
  if (first.is_ragged() && axis <= first.ragged_axis()) {
    return (void)c.Fail(
        fmt::format("joins ragged values along axes behind *{} only", first.ragged_name()));
  }
  std::vector<Dim> dims(first.dims().begin(), first.dims().end());
  for (int i = 1; i < c.num_operands(); ++i) {
    if (!c.WantSameDType(0, i) || !c.WantRank(i, first.rank())) return;
    std::vector<Dim> own(c.type(i).dims().begin(), c.type(i).dims().end());
    dims[axis] = dims[axis] + own[axis];
    own[axis] = first.dim(axis);
    if (!c.UnifyTypes(first, Type::Tensor(first.dtype(), own, c.type(i).ragged_axis()),
                      "the other dimensions")) {
      return;
    }
  }
  c.SetResult(Type::Tensor(first.dtype(), std::move(dims), first.ragged_axis()));
}

ConcatSizes SizesOf(const Op& op, const Shape& y) {
  const int axis = StorageAxisOf(op, op.result()->type);
  return {Product(y, 0, axis), Product(y, axis, y.rank())};
}

KernelStatus RunReference(KernelContext& context) {
  const ConcatSizes s = SizesOf(*context.op, context.out().shape());
  const int axis = StorageAxisOf(*context.op, context.op->result()->type);
  DispatchWidth(context.out().tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    int64_t offset = 0;
    for (int i = 0; i < context.num_ins; ++i) {
      const Shape& shape = context.in(i).shape();
      const int64_t width = Product(shape, axis, shape.rank());
      reference::ConcatPart(context.in(i).data<const T>(), context.out().data<T>(), s, offset,
                            width);
      offset += width;
    }
  });
  return KernelStatus::kDone;
}

KernelStatus RunCopies(KernelContext& context) {
  const ConcatSizes s = SizesOf(*context.op, context.out().shape());
  const int axis = StorageAxisOf(*context.op, context.op->result()->type);
  const auto element = static_cast<int64_t>(SizeOf(context.out().tensor.dtype));
  char* to = context.out().data<char>();
  RowMover mover(s.outer, context, MovesOf(context));
  for (int i = 0; i < context.num_ins; ++i) {
    const Shape& shape = context.in(i).shape();
    const int64_t bytes = Product(shape, axis, shape.rank()) * element;
    mover.Add({context.in(i).data<const char>(), to, bytes, s.length * element, bytes});
    to += bytes;
  }
  return KernelStatus::kDone;
}

// Each part gets its slice of the gradient.
void GradOfConcat(GradContext& c) {
  const Type& y = c.op().result()->type;
  const int64_t given = c.attr("axis").AsInt();
  const int axis = static_cast<int>(given < 0 ? given + y.rank() : given);
  Dim begin = 0;
  for (int i = 0; i < c.num_operands(); ++i) {
    const Dim size = c.op().operand(i)->type.dim(axis);
    if (c.wanted(i)) {
      std::vector<NamedAttr> attrs = {{"axis", axis}};
      std::vector<Var> operands = {c.grad()};
      if (begin.is_constant()) {
        attrs.push_back({"begin", begin});
        attrs.push_back({"end", begin + size});
      } else {
        attrs.push_back({"size", size});
        operands.push_back(c.emit().DimValue(begin));
      }
      c.SetGrad(i, c.emit().Emit("slice", operands, attrs));
    }
    begin = begin + size;
  }
}

}  // namespace

void DefineConcat(OpSet& ops) {
  OpTraits traits;
  traits.understands_ragged = true;
  ops.Define("concat")
      .Group("shape")
      .Doc("The parts one after another along `axis`; all other dimensions are equal.")
      .Formula("parts[0], parts[1], … along the axis")
      .VariadicIn("parts")
      .RequiredAttr("axis", AttrKind::kInt, "negative counts from the end")
      .Traits(traits)
      .Infer(InferConcat)
      .Sizes("ConcatSizes",
             [](const KernelQuery& query, Words& words) {
               const ConcatSizes s = SizesOf(*query.op, query.out[0]->shape());
               words << s.outer << s.length;
             })
      .Reference("ConcatPart", RunReference)
      .Fast(MoveKernel("copies", RunCopies))
      .TakesHalf()
      .Grad(GradOfConcat)
      .AddSample({.inputs = {Floats({2, 2}, {1, 2, 3, 4}), Floats({2, 1}, {5, 6})},
                  .attrs = {{"axis", 1}}})
      .AddSample(
          {.inputs = {Uniform({5, 60}, -1, 1), Uniform({5, 13}, -1, 1, 2), Uniform({5, 4}, -1, 1)},
           .attrs = {{"axis", 1}},
           .check_gradient = false})
      .AddSample(
          {.inputs = {Uniform({2, 3}, -1, 1), Uniform({1, 3}, -1, 1, 2), Uniform({4, 3}, -1, 1, 3)},
           .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Uniform({2, 3, 2}, -1, 1), Uniform({2, 1, 2}, -1, 1, 2)},
                  .attrs = {{"axis", -2}}})
      .AddSample({.inputs = {Uniform({3}, -1, 1)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {RandomInts({2}, 0, 9), RandomInts({3}, 0, 9)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({2, 3}, -1, 1)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 2})}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Uniform({6, 1}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

// ops/shape/split.cc
//
// a, b, … = split(x, axis): the parts of one axis, equal ones or of given sizes; the counterpart
// of concat.

#include <fmt/format.h>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

struct SplitSizes {
  int64_t outer;   // elements before the axis
  int64_t length;  // of x, from the axis on
};

// Takes one part, of `width` elements from the axis on, at `offset`.
template <class T>
void SplitPart(const T* x, T* part, const SplitSizes& s, int64_t offset, int64_t width) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < width; ++i) part[o * width + i] = x[o * s.length + offset + i];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::SplitSizes;

void InferSplit(InferContext& c) {
  if (!c.WantMinRank(0, 1)) return;
  const Type& x = c.type(0);
  int axis = 0;
  if (!c.Axis("axis", x.rank(), &axis) || !WantBehindRagged(c, x, axis)) return;
  const int count = c.op().num_results();
  if (count == 0) return (void)c.Fail("names are missing for the parts: a, b = split(x)");
  const Dim& whole = x.dim(axis);
  std::vector<Dim> parts;
  if (!c.op().attr("sizes").empty()) {
    parts = c.op().attr("sizes").AsDims();
    if (static_cast<int>(parts.size()) != count) {
      return (void)c.Fail(fmt::format("sizes has {} numbers for {} results", parts.size(), count));
    }
    Dim sum = 0;
    for (const Dim& part : parts) {
      if (part.is_constant() && part.constant() < 0) {
        return (void)c.Fail(fmt::format("a size is {}", part.constant()));
      }
      sum = sum + part;
    }
    if (!c.Unify(whole, sum, "the axis and the sum of the sizes")) return;
  } else {
    const Dim part = whole / Dim(count);
    if (!c.Unify(whole, part * Dim(count), fmt::format("the axis and {} equal parts", count))) {
      return;
    }
    parts.assign(static_cast<size_t>(count), part);
  }
  for (int i = 0; i < count; ++i) {
    std::vector<Dim> dims = DimsOf(x);
    dims[static_cast<size_t>(axis)] = parts[static_cast<size_t>(i)];
    c.SetResult(i, Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
  }
}

SplitSizes SizesOf(const Op& op, const Shape& x) {
  const int axis = StorageAxisOf(op, op.operand(0)->type);
  return {Product(x, 0, axis), Product(x, axis, x.rank())};
}

// Calls part(i, offset, width) for each result; an Error when they do not fill the axis.
template <class F>
void ForEachPart(const KernelContext& c, const SplitSizes& s, F part) {
  const int axis = StorageAxisOf(*c.op, c.op->operand(0)->type);
  int64_t total = 0;
  for (int i = 0; i < c.num_outs; ++i) {
    total += Product(c.out(i).shape(), axis, c.out(i).shape().rank());
  }
  if (total != s.length && s.outer != 0) {
    Fail("split: the parts have {} elements of {} along axis {}", total, s.length, axis);
  }
  int64_t offset = 0;
  for (int i = 0; i < c.num_outs; ++i) {
    const int64_t width = Product(c.out(i).shape(), axis, c.out(i).shape().rank());
    part(i, offset, width);
    offset += width;
  }
}

KernelStatus RunReference(KernelContext& c) {
  const SplitSizes s = SizesOf(*c.op, c.in(0).shape());
  DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    ForEachPart(c, s, [&](int i, int64_t offset, int64_t width) {
      reference::SplitPart(c.in(0).data<const T>(), c.out(i).data<T>(), s, offset, width);
    });
  });
  return KernelStatus::kDone;
}

KernelStatus RunCopies(KernelContext& c) {
  const SplitSizes s = SizesOf(*c.op, c.in(0).shape());
  const auto element = static_cast<int64_t>(SizeOf(c.in(0).tensor.dtype));
  RowMover mover(s.outer, c, MovesOf(c));
  ForEachPart(c, s, [&](int i, int64_t offset, int64_t width) {
    mover.Add({c.in(0).data<const char>() + offset * element, c.out(i).data<char>(),
               s.length * element, width * element, width * element});
  });
  return KernelStatus::kDone;
}

// The parts' gradients side by side; zeros for a part that nothing flows to.
void GradOfSplit(GradContext& c) {
  std::vector<Var> parts;
  for (int i = 0; i < c.op().num_results(); ++i) {
    parts.push_back(c.grad(i) ? c.grad(i) : c.emit().Emit("zeros_like", {c.result(i)}));
  }
  c.SetGrad(0, c.emit().Emit("concat", parts, {{"axis", c.attr("axis")}}));
}

}  // namespace

void DefineSplit(OpSet& ops) {
  ops.Define("split")
      .Group("shape")
      .Doc(
          "The parts of x along an axis, as many as there are names for them: equal ones, or of "
          "the "
          "given sizes, which make up the axis.")
      .Formula("y_k[…, i, …] = x[…, begin_k + i, …]")
      .In("x")
      .WithAttr("axis", AttrKind::kInt, 0, "negative counts from the end")
      .OptionalAttr("sizes", AttrKind::kInts, "of each part; equal parts when left out")
      .Results(-1)
      .Traits(RaggedTraits())
      .Infer(InferSplit)
      .Sizes("SplitSizes",
             [](const KernelQuery& q, Words& words) {
               const SplitSizes s = SizesOf(*q.op, q.in[0]->shape());
               words << s.outer << s.length;
             })
      .Reference("SplitPart", RunReference)
      .Fast(MoveKernel("copies", RunCopies))
      .TakesHalf()
      .Grad(GradOfSplit)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
                  .attrs = {{"axis", 1}, {"sizes", Attr::Ints({1, 2})}},
                  .num_results = 2})
      .AddSample({.inputs = {Uniform({6, 2}, -1, 1)}, .num_results = 3})
      .AddSample({.inputs = {Uniform({2, 6, 3}, -1, 1)}, .attrs = {{"axis", -2}}, .num_results = 2})
      .AddSample({.inputs = {Uniform({3, 40}, -1, 1)},
                  .attrs = {{"axis", 1}, {"sizes", Attr::Ints({7, 0, 1, 32})}},
                  .num_results = 4})
      .AddSample({.inputs = {RandomInts({5}, 0, 9, DType::kU8)},
                  .attrs = {{"sizes", Attr::Ints({5})}},
                  .num_results = 1})
      .AddSample({.inputs = {Empty({0, 4})}, .attrs = {{"axis", 1}}, .num_results = 2})
      .AddSample({.inputs = {Empty({0, 4})}, .num_results = 2})
      .AddSample({.inputs = {Uniform({6, 4}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .num_results = 2,
                  .note = "ragged"});
}

}  // namespace catamaran

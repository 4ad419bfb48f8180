// ops/shape/pad.cc
//
// pad(x, before, after, mode): x with a border; and pad_grad, which folds the border of a
// gradient back.

#include <fmt/format.h>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/pad_rows.h"

namespace catamaran {
namespace {

using reference::PadSizes;

constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};

int64_t ModeOf(const Op& op) {
  const std::string word = op.attr("mode").AsWord();
  int64_t mode = 0;
  while (word != kModes[mode]) ++mode;
  return mode;
}

// The dimensions of x with its border.
bool PaddedDims(InferContext& c, const Type& x, std::vector<Dim>* dims) {
  const std::vector<int64_t> before = c.op().attr("before").AsInts();
  const std::vector<int64_t> after = c.op().attr("after").AsInts();
  const auto rank = static_cast<size_t>(x.rank());
  if (before.size() != rank || after.size() != rank) {
    return c.Fail(fmt::format("before has {} numbers and after {} for {} dimensions", before.size(),
                              after.size(), rank));
  }
  *dims = DimsOf(x);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (before[axis] < 0 || after[axis] < 0) {
      return c.Fail(fmt::format("the border of axis {} is {} and {}; slice makes an axis shorter",
                                axis, before[axis], after[axis]));
    }
    if (before[axis] == 0 && after[axis] == 0) continue;
    if (!WantBehindRagged(c, x, static_cast<int>(axis))) return false;
    if ((*dims)[axis] == Dim(0) && ModeOf(c.op()) != 0) {
      return c.Fail(fmt::format("axis {} has no entries to fill its border with", axis));
    }
    (*dims)[axis] = (*dims)[axis] + Dim(before[axis] + after[axis]);
  }
  return true;
}

void InferPad(InferContext& c) {
  std::vector<Dim> dims;
  if (!c.WantTensor(0) || !PaddedDims(c, c.type(0), &dims)) return;
  const double value = c.op().attr("value").AsDouble();
  if (!IsFloat(c.type(0).dtype()) && value != std::floor(value)) {
    return (void)c.Fail(fmt::format("{} is no {}", value, Name(c.type(0).dtype())));
  }
  c.SetResult(Type::Tensor(c.type(0).dtype(), std::move(dims), c.type(0).ragged_axis()));
}

void InferPadGrad(InferContext& c) {
  std::vector<Dim> dims;
  if (!c.WantFloat(0) || !c.WantTensor(1) || !PaddedDims(c, c.type(1), &dims)) return;
  const Type& g = c.type(0);
  if (c.UnifyTypes(g, Type::Tensor(g.dtype(), std::move(dims), c.type(1).ragged_axis()),
                   "the padded shapes")) {
    c.SetResult(c.type(1).WithDType(g.dtype()));
  }
}

// `x` is the side without border.
PadSizes SizesOf(const Op& op, const Type& type, const Shape& x) {
  const std::vector<int64_t> before = op.attr("before").AsInts();
  const std::vector<int64_t> after = op.attr("after").AsInts();
  PadSizes s{};
  s.rank = x.rank();
  s.mode = ModeOf(op);
  const auto skipped = static_cast<size_t>(type.rank() - x.rank());
  for (int axis = 0; axis < x.rank(); ++axis) {
    s.dims[axis] = x[axis];
    s.before[axis] = before[static_cast<size_t>(axis) + skipped];
    s.after[axis] = after[static_cast<size_t>(axis) + skipped];
    if (s.mode != 0 && x[axis] == 0 && s.before[axis] + s.after[axis] > 0) {
      Fail("{}: axis {} has no entries to fill its border with", op.name(), axis);
    }
  }
  if (op.def().FindArg("value")) s.value = op.attr("value").AsDouble();
  return s;
}

// The side without border, of pad and pad_grad.
PadSizes PadSizesOf(const Op& op, const Shape& x) { return SizesOf(op, op.operand(0)->type, x); }
PadSizes GradSizesOf(const Op& op, const Shape& dx) { return SizesOf(op, op.operand(1)->type, dx); }

void FillSizes(const PadSizes& s, Words& words) {
  words << s.rank << s.mode;
  for (const auto* list : {&s.dims, &s.before, &s.after}) {
    for (int64_t number : *list) words << number;
  }
  words << s.value;
}

// What was made before, with the leading size of this run.
PadSizes SizesNow(const KernelContext& c, const Shape& x) {
  PadSizes s = c.sizes<PadSizes>();
  if (s.rank > 0) s.dims[0] = x[0];
  return s;
}

KernelStatus RunPad(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.in(0).shape());
  DispatchAll(c.in(0).tensor.dtype,
              [&]<class T>(T) { reference::Pad(c.in(0).data<const T>(), c.out().data<T>(), s); });
  return KernelStatus::kDone;
}

KernelStatus RunPadRows(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.in(0).shape());
  if (c.out().size() == 0) return KernelStatus::kDone;
  DispatchAll(c.in(0).tensor.dtype,
              [&]<class T>(T) { PadRows(c.in(0).data<const T>(), c.out().data<T>(), s, c.pool); });
  return KernelStatus::kDone;
}

KernelStatus RunPadGrad(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.out().shape());
  DispatchFloating(c.in(0).tensor.dtype, [&]<class T>(T) {
    reference::PadGrad(c.in(0).data<const T>(), c.in(0).data<const T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

KernelStatus RunPadGradRows(KernelContext& c) {
  const PadSizes s = SizesNow(c, c.out().shape());
  if (c.out().size() == 0) return KernelStatus::kDone;
  DispatchFloating(c.in(0).tensor.dtype, [&]<class T>(T) {
    std::fill_n(c.out().data<T>(), c.out().size(), T(0));
    if (c.in(0).size() > 0) FoldRows(c.in(0).data<const T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

void GradOfPad(GradContext& c) {
  const Type& x = c.op().operand(0)->type;
  std::vector<NamedAttr> attrs;
  if (ModeOf(c.op()) != 0) {
    for (const char* name : {"before", "after", "mode"}) attrs.push_back({name, c.attr(name)});
    return c.SetGrad(0, c.emit().Emit("pad_grad", {c.grad(), c.operand(0)}, std::move(attrs)));
  }
  const std::vector<int64_t> before = c.attr("before").AsInts();
  const std::vector<int64_t> after = c.attr("after").AsInts();
  Attr::List axes, begin, size;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto k = static_cast<size_t>(axis);
    if (before[k] == 0 && after[k] == 0) continue;
    axes.emplace_back(axis);
    begin.emplace_back(before[k]);
    size.emplace_back(x.dim(axis));
  }
  if (axes.empty()) return c.SetGrad(0, c.grad());
  c.SetGrad(0, c.emit().Emit("strided_slice", {c.grad()},
                             {{"begin", Attr(std::move(begin))},
                              {"size", Attr(std::move(size))},
                              {"axes", Attr(std::move(axes))}}));
}

}  // namespace

void DefinePad(OpSet& ops) {
  ops.Define("pad")
      .Group("shape")
      .Doc(
          "x with a border: a constant, its own entries mirrored without repeating the outermost "
          "(reflect), the outermost again (edge), or those of the other side (wrap). A border may "
          "be wider than x. A ragged value has 0 for its ragged dimension and what is before it.")
      .Formula("y[…, i, …] = x[…, i - before, …], or the border")
      .In("x")
      .RequiredAttr("before", AttrKind::kInts, "how many entries in front, for each axis")
      .RequiredAttr("after", AttrKind::kInts, "how many entries behind, for each axis")
      .WordAttr("mode", {"constant", "reflect", "edge", "wrap"}, "constant",
                "what the border holds")
      .WithAttr("value", AttrKind::kFloat, 0.0, "of a constant border")
      .Traits(RaggedTraits())
      .Infer(InferPad)
      .Sizes("PadSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(PadSizesOf(*q.op, q.in[0]->shape()), words);
             })
      .Reference("Pad", RunPad)
      .Fast(FastKernel("rows", RunPadRows, nullptr))
      .TakesHalf()
      .Grad(GradOfPad)
      .AddSample({.inputs = {Floats({3}, {1, 2, 3})},
                  .attrs = {{"before", Attr::Ints({2})}, {"after", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})},
                            {"after", Attr::Ints({0, 3})},
                            {"value", 0.5}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 2, 1})},
                            {"after", Attr::Ints({0, 1, 3})},
                            {"mode", Attr::Word("reflect")}}})
      .AddSample({.inputs = {Uniform({2, 3, 2}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2, 0})},
                            {"after", Attr::Ints({2, 1, 0})},
                            {"mode", Attr::Word("edge")}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 3})},
                            {"after", Attr::Ints({4, 0})},
                            {"mode", Attr::Word("wrap")}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 5})},
                            {"after", Attr::Ints({0, 7})},
                            {"mode", Attr::Word("reflect")}},
                  .note = "a border wider than the axis"})
      .AddSample({.inputs = {Uniform({1}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({2})},
                            {"after", Attr::Ints({1})},
                            {"mode", Attr::Word("reflect")}}})
      .AddSample({.inputs = {RandomInts({2, 2}, 0, 9, DType::kI32)},
                  .attrs = {{"before", Attr::Ints({1, 0})},
                            {"after", Attr::Ints({0, 1})},
                            {"value", -7.0}}})
      .AddSample({.inputs = {Bools({2}, {true, true})},
                  .attrs = {{"before", Attr::Ints({1})}, {"after", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({})}, {"after", Attr::Ints({})}}})
      .AddSample({.inputs = {Empty({0, 3})},
                  .attrs = {{"before", Attr::Ints({2, 0})}, {"after", Attr::Ints({0, 1})}}})
      .AddSample({.inputs = {Empty({0, 3})},
                  .attrs = {{"before", Attr::Ints({0, 1})},
                            {"after", Attr::Ints({0, 1})},
                            {"mode", Attr::Word("edge")}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 0, 1})},
                            {"after", Attr::Ints({0, 0, 2})},
                            {"mode", Attr::Word("reflect")}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({0, 0, 1})}, {"after", Attr::Ints({0, 0, 2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefinePadGrad(OpSet& ops) {
  ops.Define("pad_grad")
      .Group("shape")
      .Doc(
          "The shape of `like`: each element the sum of those of g that pad would fill with it. "
          "The "
          "gradient of pad.")
      .Formula("dx[j] = sum of g[i] over i where pad reads x[j]")
      .In("g", "the gradient of pad's result")
      .In("like", "only its shape matters")
      .RequiredAttr("before", AttrKind::kInts, "how many entries in front, for each axis")
      .RequiredAttr("after", AttrKind::kInts, "how many entries behind, for each axis")
      .WordAttr("mode", {"constant", "reflect", "edge", "wrap"}, "constant", "what the border held")
      .Traits(RaggedTraits())
      .Infer(InferPadGrad)
      .Sizes("PadSizes",
             [](const KernelQuery& q, Words& words) {
               FillSizes(GradSizesOf(*q.op, q.out[0]->shape()), words);
             })
      .Reference("PadGrad", RunPadGrad)
      .Fast(FastKernel("rows", RunPadGradRows,
                       [](const KernelQuery& q) { return q.out[0]->shape().rank() > 0; }))
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        std::vector<NamedAttr> attrs;
        for (const char* name : {"before", "after", "mode"}) attrs.push_back({name, c.attr(name)});
        c.SetGrad(0, c.emit().Emit("pad", {c.grad()}, std::move(attrs)));
      })
      .AddSample({.inputs = {Floats({5}, {1, 2, 3, 4, 5}), Floats({3}, {0, 0, 0})},
                  .attrs = {{"before", Attr::Ints({1})},
                            {"after", Attr::Ints({1})},
                            {"mode", Attr::Word("edge")}}})
      .AddSample({.inputs = {Uniform({4, 8}, -1, 1), Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})},
                            {"after", Attr::Ints({1, 3})},
                            {"mode", Attr::Word("reflect")}}})
      .AddSample({.inputs = {Uniform({4, 8}, -1, 1), Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})},
                            {"after", Attr::Ints({1, 3})},
                            {"mode", Attr::Word("wrap")}}})
      .AddSample({.inputs = {Uniform({4, 8}, -1, 1), Uniform({2, 3}, -1, 1)},
                  .attrs = {{"before", Attr::Ints({1, 2})}, {"after", Attr::Ints({1, 3})}}})
      .AddSample({.inputs = {Empty({0, 5}), Empty({0, 3})},
                  .attrs = {{"before", Attr::Ints({0, 1})},
                            {"after", Attr::Ints({0, 1})},
                            {"mode", Attr::Word("edge")}}});
}

}  // namespace catamaran

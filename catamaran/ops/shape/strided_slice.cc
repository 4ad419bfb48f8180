// ops/shape/strided_slice.cc
//
// strided_slice(x, begin, end, step, axes): every step-th entry of some axes, also backwards; and
// strided_place, which puts them back into zeros.

#include <fmt/format.h>

#include "catamaran/ops/shape/strided_run.h"

namespace catamaran {
namespace {

using reference::StridedSizes;

// The cut of one axis. `begin` is from the front; it may depend on the size of the axis.
struct Cut {
  int axis;
  Dim begin;
  int64_t step;
};

// Item k of a list attribute, or the empty Attr when the list was left out.
Attr Item(const Op& op, std::string_view name, size_t k) {
  const Attr::List* list = op.attr(name).list();
  return list ? (*list)[k] : Attr();
}

// `axes`, or the first ones, one for each number of the other lists.
bool CutsOf(InferContext& c, const Type& whole, std::vector<Cut>* cuts) {
  const Op& op = c.op();
  size_t count = 0;
  for (const char* name : {"begin", "end", "size", "step", "axes"}) {
    const Attr::List* list = op.def().FindArg(name) ? op.attr(name).list() : nullptr;
    if (!list) continue;
    if (count != 0 && list->size() != count) {
      return c.Fail("begin, end, size, step and axes, where given, have one number for each axis");
    }
    count = list->size();
  }
  if (static_cast<int>(count) > whole.rank()) {
    return c.Fail(fmt::format("cuts {} axes of a tensor that has {}", count, whole.rank()));
  }
  std::vector<int> axes;
  if (!op.attr("axes").empty()) {
    if (!WantAxes(c, whole, "axes", &axes)) return false;
  } else {
    for (size_t k = 0; k < count; ++k) {
      axes.push_back(static_cast<int>(k));
      if (!WantBehindRagged(c, whole, static_cast<int>(k))) return false;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    const Attr step = Item(op, "step", k), begin = Item(op, "begin", k);
    Cut cut{axes[k], 0, step.empty() ? 1 : step.AsInt()};
    if (cut.step == 0) return c.Fail("a step is 0");
    const Dim& size = whole.dim(cut.axis);
    const int64_t from = begin.empty() ? (cut.step > 0 ? 0 : -1) : begin.AsInt();
    cut.begin = from < 0 ? size + Dim(from) : Dim(from);
    cuts->push_back(cut);
  }
  return true;
}

// Refuses what is known to leave the axis; `count` entries are taken.
bool CheckCut(InferContext& c, const Cut& cut, const Dim& count, const Dim& size) {
  if (!count.is_constant()) return true;
  if (count.constant() < 0) {
    return c.Fail(fmt::format("the size of axis {} would be {}", cut.axis, count.constant()));
  }
  if (!size.is_constant() || !cut.begin.is_constant() || count.constant() == 0) return true;
  const int64_t first = cut.begin.constant(), last = first + (count.constant() - 1) * cut.step;
  if (std::min(first, last) >= 0 && std::max(first, last) < size.constant()) return true;
  return c.Fail(fmt::format("entries {} to {} are not within axis {} of size {}", first, last,
                            cut.axis, size.constant()));
}

void InferStridedSlice(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  const Op& op = c.op();
  std::vector<Cut> cuts;
  if (!CutsOf(c, x, &cuts)) return;
  if (!op.attr("end").empty() && !op.attr("size").empty()) {
    return (void)c.Fail("give end or size, not both");
  }
  std::vector<Dim> dims = DimsOf(x);
  for (size_t k = 0; k < cuts.size(); ++k) {
    const Cut& cut = cuts[k];
    const Dim& whole = x.dim(cut.axis);
    const Attr end = Item(op, "end", k), size = Item(op, "size", k);
    Dim count;
    if (!size.empty()) {
      count = size.AsDim();
    } else {
      Dim to = cut.step > 0 ? whole : Dim(-1);
      if (!end.empty()) {
        to = end.AsDim();
        if (to.is_constant() && to.constant() < 0) to = whole + to;
      }
      count = cut.step > 0 ? (to - cut.begin + Dim(cut.step - 1)) / Dim(cut.step)
                           : (cut.begin - to + Dim(-cut.step - 1)) / Dim(-cut.step);
    }
    if (!CheckCut(c, cut, count, whole)) return;
    dims[static_cast<size_t>(cut.axis)] = count;
  }
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

void InferStridedPlace(InferContext& c) {
  if (!c.WantTensor(0) || !c.WantRank(1, c.type(0).rank())) return;
  const Type& x = c.type(0);
  const Type& like = c.type(1);
  std::vector<Cut> cuts;
  if (!CutsOf(c, like, &cuts)) return;
  std::vector<Dim> dims = DimsOf(like);
  for (const Cut& cut : cuts) {
    if (!CheckCut(c, cut, x.dim(cut.axis), like.dim(cut.axis))) return;
    dims[static_cast<size_t>(cut.axis)] = x.dim(cut.axis);
  }
  if (c.UnifyTypes(x, Type::Tensor(x.dtype(), std::move(dims), like.ragged_axis()),
                   "the other dimensions")) {
    c.SetResult(like.WithDType(x.dtype()));
  }
}

// The strides of `part` in `whole`. An Error when it does not lie within.
StridedSizes CutSizes(const Op& op, const Shape& whole, const Shape& part) {
  const Type& type = op.operand(0)->type;
  const auto strides = whole.RowMajorStrides();
  StridedSizes s{};
  s.rank = part.rank();
  s.whole = whole.num_elements();
  for (int axis = 0; axis < part.rank(); ++axis) {
    s.dims[axis] = part[axis];
    s.strides[axis] = strides[axis];
  }
  size_t count = 0;
  for (const char* name : {"begin", "step", "axes", "end", "size"}) {
    if (!op.def().FindArg(name)) continue;
    if (const Attr::List* list = op.attr(name).list()) count = list->size();
  }
  for (size_t k = 0; k < count; ++k) {
    const Attr given = Item(op, "axes", k), steps = Item(op, "step", k);
    const int named = given.empty() ? static_cast<int>(k) : AxisOf(given.AsInt(), type.rank());
    const int axis = StorageAxis(type, named);
    const int64_t step = steps.empty() ? 1 : steps.AsInt();
    const Attr begins = Item(op, "begin", k);
    int64_t begin = begins.empty() ? (step > 0 ? 0 : -1) : begins.AsInt();
    if (begin < 0) begin += whole[axis];
    const int64_t last = begin + (part[axis] - 1) * step;
    if (part[axis] > 0 && (std::min(begin, last) < 0 || std::max(begin, last) >= whole[axis])) {
      Fail("{}: entries {} to {} are not within axis {} of size {}", op.name(), begin, last, named,
           whole[axis]);
    }
    s.offset += begin * strides[axis];
    s.strides[axis] *= step;
  }
  return s;
}

StridedSizes SliceSizes(const Op& op, const Shape& x, const Shape& y) { return CutSizes(op, x, y); }
StridedSizes PlaceSizes(const Op& op, const Shape& x, const Shape& y) { return CutSizes(op, y, x); }

// begin, step and axes of this op, for its counterpart.
std::vector<NamedAttr> SameCuts(const GradContext& c) {
  std::vector<NamedAttr> attrs;
  for (const char* name : {"begin", "step", "axes"}) {
    if (!c.attr(name).empty()) attrs.push_back({name, c.attr(name)});
  }
  return attrs;
}

void GradOfSlice(GradContext& c) {
  std::vector<NamedAttr> attrs = SameCuts(c);
  // With nothing but end or size, the counterpart must still know how many axes are meant.
  if (attrs.empty()) {
    const Attr::List* list = c.attr("end").empty() ? c.attr("size").list() : c.attr("end").list();
    if (list) attrs.push_back({"step", Attr(Attr::List(list->size(), Attr(1)))});
  }
  c.SetGrad(0, c.emit().Emit("strided_place", {c.grad(), c.operand(0)}, std::move(attrs)));
}

void GradOfPlace(GradContext& c) {
  if (!c.wanted(0)) return;
  const Type& x = c.op().operand(0)->type;
  std::vector<NamedAttr> attrs = SameCuts(c);
  Attr::List sizes;
  if (const Attr::List* axes = c.attr("axes").list()) {
    for (const Attr& axis : *axes) sizes.emplace_back(x.dim(AxisOf(axis.AsInt(), x.rank())));
  } else if (!attrs.empty()) {
    for (size_t k = 0; k < attrs[0].value.list()->size(); ++k) {
      sizes.emplace_back(x.dim(static_cast<int>(k)));
    }
  }
  attrs.push_back({"size", Attr(std::move(sizes))});
  c.SetGrad(0, c.emit().Emit("strided_slice", {c.grad()}, std::move(attrs)));
}

}  // namespace

void DefineStridedSlice(OpSet& ops) {
  auto op = ops.Define("strided_slice");
  op.Group("shape")
      .Doc(
          "Every step-th entry of some axes, from `begin` to before `end`, or `size` of them. All "
          "lists that are given are equally long. A negative begin or end counts from the end of "
          "the axis; a negative step goes backwards. Without begin an axis is taken from its first "
          "entry (its last, backwards), without end to the other side. To leave the axis is an "
          "error, not cut short.")
      .Formula("y[…, i, …] = x[…, begin + i * step, …]")
      .In("x")
      .OptionalAttr("begin", AttrKind::kInts, "the first entry of each axis")
      .OptionalAttr("end", AttrKind::kInts, "where each axis stops; not included")
      .OptionalAttr("size", AttrKind::kInts, "how many entries of each axis, in place of end")
      .OptionalAttr("step", AttrKind::kInts, "from one entry to the next; not 0; 1 when left out")
      .OptionalAttr("axes", AttrKind::kInts, "which axes; the first ones when left out")
      .Traits(RaggedTraits())
      .Infer(InferStridedSlice)
      .Grad(GradOfSlice);
  StridedCopyKernels<SliceSizes>(op)
      .AddSample({.inputs = {Floats({6}, {1, 2, 3, 4, 5, 6})},
                  .attrs = {{"begin", Attr::Ints({1})}, {"step", Attr::Ints({2})}}})
      .AddSample({.inputs = {Uniform({7, 5}, -1, 1)},
                  .attrs = {{"begin", Attr::Ints({1, 4})},
                            {"end", Attr::Ints({-1, 0})},
                            {"step", Attr::Ints({2, -3})}}})
      .AddSample({.inputs = {Uniform({3, 70}, -1, 1)},
                  .attrs = {{"step", Attr::Ints({2})}, {"axes", Attr::Ints({-1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({2, 3, 7}, -1, 1)},
                  .attrs = {{"step", Attr::Ints({-1, -2})}, {"axes", Attr::Ints({2, 0})}}})
      .AddSample({.inputs = {Uniform({7, 3}, -1, 1)}, .attrs = {{"end", Attr::Ints({4})}}})
      .AddSample({.inputs = {Uniform({7, 3}, -1, 1)},
                  .attrs = {{"begin", Attr::Ints({5})},
                            {"size", Attr::Ints({3})},
                            {"step", Attr::Ints({-2})}}})
      .AddSample({.inputs = {RandomInts({9, 4}, 0, 9, DType::kI8)},
                  .attrs = {{"begin", Attr::Ints({-4})}, {"step", Attr::Ints({3})}}})
      .AddSample({.inputs = {Uniform({5}, -1, 1)},
                  .attrs = {{"begin", Attr::Ints({3})}, {"end", Attr::Ints({3})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Empty({0, 3})},
                  .attrs = {{"step", Attr::Ints({2})}, {"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"step", Attr::Ints({2})}, {"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefineStridedPlace(OpSet& ops) {
  auto op = ops.Define("strided_place");
  op.Group("shape")
      .Doc(
          "Zeros of the shape of `like`, with x at every step-th entry of some axes, from `begin` "
          "on. The gradient of strided_slice.")
      .Formula("y = 0; y[…, begin + i * step, …] = x[…, i, …]")
      .In("x")
      .In("like", "only its shape matters")
      .OptionalAttr("begin", AttrKind::kInts, "the first entry of each axis")
      .OptionalAttr("step", AttrKind::kInts, "from one entry to the next; not 0; 1 when left out")
      .OptionalAttr("axes", AttrKind::kInts, "which axes; the first ones when left out")
      .Traits(RaggedTraits())
      .Infer(InferStridedPlace)
      .Grad(GradOfPlace);
  StridedPlaceKernels<PlaceSizes>(op, "StridedPlace")
      .AddSample({.inputs = {Floats({3}, {1, 2, 3}), Floats({6}, {0, 0, 0, 0, 0, 0})},
                  .attrs = {{"begin", Attr::Ints({1})}, {"step", Attr::Ints({2})}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1), Uniform({7, 5}, -1, 1)},
                  .attrs = {{"begin", Attr::Ints({1, 4})}, {"step", Attr::Ints({2, -3})}}})
      .AddSample({.inputs = {Uniform({2, 35}, -1, 1), Uniform({2, 70}, -1, 1)},
                  .attrs = {{"step", Attr::Ints({2})}, {"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({4, 3}, -1, 1)},
                  .attrs = {{"begin", Attr::Ints({2})}}})
      .AddSample({.inputs = {Uniform({6, 2}, -1, 1), Uniform({6, 3}, -1, 1)},
                  .attrs = {{"step", Attr::Ints({2})}, {"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

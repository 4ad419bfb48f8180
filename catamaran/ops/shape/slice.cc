// ops/shape/slice.cc
//
// slice(x, axis, begin, end), or slice(x, at, axis, size) with a start that is known when it
// runs; and place(x, like, …), its counterpart.

#include <fmt/format.h>

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_move.h"

// reference-begin
namespace catamaran::reference {

struct SliceSizes {
  int64_t outer;   // elements before the axis
  int64_t length;  // of the whole, from the axis on
  int64_t width;   // of the part, from the axis on
  int64_t inner;   // elements behind the axis
};

// `begin` counts along the axis.
template <class T>
void Slice(const T* x, T* y, const SliceSizes& s, int64_t begin) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.width; ++i) {
      y[o * s.width + i] = x[o * s.length + begin * s.inner + i];
    }
  }
}

template <class T>
void Place(const T* x, T* y, const SliceSizes& s, int64_t begin) {
  for (int64_t i = 0; i < s.outer * s.length; ++i) y[i] = T(0);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.width; ++i) {
      y[o * s.length + begin * s.inner + i] = x[o * s.width + i];
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

using reference::SliceSizes;

// The axis, checked against ragged dimensions.
bool SliceAxis(InferContext& c, const Type& whole, int* axis) {
  if (!c.Axis("axis", whole.rank(), axis)) return false;
  if (whole.is_ragged() && *axis <= whole.ragged_axis()) {
    return c.Fail(
        fmt::format("cuts a ragged value along axes behind *{} only", whole.ragged_name()));
  }
  return true;
}

bool CheckAt(InferContext& c, int operand) {
  if (!c.WantDType(operand, DType::kI64)) return false;
  return c.type(operand).is_scalar() || c.Fail("`at` must be one i64");
}

void InferSlice(InferContext& c) {
  if (!c.WantMinRank(0, 1)) return;
  const Type& x = c.type(0);
  int axis = 0;
  if (!SliceAxis(c, x, &axis)) return;
  const Op& op = c.op();
  const Attr& size = op.attr("size");
  const Attr& end = op.attr("end");
  std::vector<Dim> dims(x.dims().begin(), x.dims().end());
  if (c.has(1)) {
    if (!CheckAt(c, 1)) return;
    if (size.empty() || !end.empty()) return (void)c.Fail("with `at`, give size and not end");
    dims[axis] = size.AsDim();
  } else {
    if (!size.empty()) return (void)c.Fail("size goes with `at`; give begin and end");
    const Dim& begin = op.attr("begin").AsDim();
    if (!begin.is_constant()) {
      return (void)c.Fail(fmt::format(
          "begin must be a number, found {}; give a start that is not known before as `at`",
          begin.ToString()));
    }
    const Dim from = begin.constant() < 0 ? x.dim(axis) + begin : begin;
    Dim to = end.empty() ? x.dim(axis) : end.AsDim();
    if (to.is_constant() && to.constant() < 0) to = x.dim(axis) + to;
    dims[axis] = to - from;
    if (from.is_constant() && x.dim(axis).is_constant() && to.is_constant() &&
        (from.constant() < 0 || to.constant() > x.dim(axis).constant())) {
      return (void)c.Fail(fmt::format("[{}, {}) is not within the axis of size {}", from.ToString(),
                                      to.ToString(), x.dim(axis).ToString()));
    }
  }
  if (dims[axis].is_constant() && dims[axis].constant() < 0) {
    return (void)c.Fail(fmt::format("the size would be {}", dims[axis].ToString()));
  }
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

void InferPlace(InferContext& c) {
  if (!c.WantMinRank(0, 1) || !c.WantRank(1, c.type(0).rank())) return;
  const Type& x = c.type(0);
  const Type& like = c.type(1);
  int axis = 0;
  if (!SliceAxis(c, like, &axis)) return;
  if (c.has(2) && !CheckAt(c, 2)) return;
  std::vector<Dim> dims(like.dims().begin(), like.dims().end());
  dims[axis] = x.dim(axis);
  if (!c.UnifyTypes(x, Type::Tensor(x.dtype(), std::move(dims), like.ragged_axis()),
                    "the other dimensions")) {
    return;
  }
  c.SetResult(like.WithDType(x.dtype()));
}

SliceSizes SizesOf(const Op& op, const Shape& whole, const Shape& part) {
  const int axis = StorageAxisOf(op, op.operand(0)->type);
  return {Product(whole, 0, axis), Product(whole, axis, whole.rank()),
          Product(part, axis, part.rank()), Product(whole, axis + 1, whole.rank())};
}

// Where the part begins along the axis. An Error when it would not lie within the whole.
int64_t BeginOf(const KernelContext& context, const Shape& whole, const Shape& part, int at) {
  const Op& op = *context.op;
  const int axis = StorageAxisOf(op, op.operand(0)->type);
  int64_t begin =
      context.has_in(at) ? context.in(at).data<const int64_t>()[0] : op.attr("begin").AsInt();
  if (begin < 0 && !context.has_in(at)) begin += whole[axis];
  if (begin < 0 || begin > whole[axis] - part[axis]) {
    Fail("{}: [{}, {}) is not within the axis of size {}", op.name(), begin, begin + part[axis],
         whole[axis]);
  }
  return begin;
}

template <bool place>
KernelStatus RunReference(KernelContext& context) {
  const Slot& x = context.in(0);
  const Slot& y = context.out();
  const Shape& whole = place ? y.shape() : x.shape();
  const Shape& part = place ? x.shape() : y.shape();
  const SliceSizes s = SizesOf(*context.op, whole, part);
  const int64_t begin = BeginOf(context, whole, part, place ? 2 : 1);
  DispatchWidth(x.tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (place) {
      reference::Place(x.data<const T>(), y.data<T>(), s, begin);
    } else {
      reference::Slice(x.data<const T>(), y.data<T>(), s, begin);
    }
  });
  return KernelStatus::kDone;
}

template <bool place>
KernelStatus RunCopies(KernelContext& context) {
  const Slot& x = context.in(0);
  const Slot& y = context.out();
  const Shape& whole = place ? y.shape() : x.shape();
  const Shape& part = place ? x.shape() : y.shape();
  const SliceSizes s = SizesOf(*context.op, whole, part);
  const int64_t begin = BeginOf(context, whole, part, place ? 2 : 1);
  const size_t element = SizeOf(x.tensor.dtype);
  const int64_t offset = begin * s.inner * static_cast<int64_t>(element);
  if (place) ZeroBytes(y, context.pool);
  StridedMove move;
  move.Axis(s.outer, place ? s.width : s.length, place ? s.length : s.width);
  move.Axis(s.width, 1, 1);
  Move(move, element, x.data<const char>() + (place ? 0 : offset),
       y.data<char>() + (place ? offset : 0), MovesOf(context), context.pool);
  return KernelStatus::kDone;
}

template <bool place>
void FillSizes(const KernelQuery& query, Words& words) {
  const Shape& x = query.in[0]->shape();
  const Shape& y = query.out[0]->shape();
  const SliceSizes s = SizesOf(*query.op, place ? y : x, place ? x : y);
  words << s.outer << s.length << s.width << s.inner;
}

void GradOfSlice(GradContext& c) {
  if (!c.wanted(0)) return;
  std::vector<NamedAttr> attrs = {{"axis", c.attr("axis")}};
  std::vector<Var> operands = {c.grad(), c.operand(0)};
  if (c.has_operand(1)) {
    operands.push_back(c.operand(1));
  } else {
    attrs.push_back({"begin", c.attr("begin")});
  }
  c.SetGrad(0, c.emit().Emit("place", operands, attrs));
}

void GradOfPlace(GradContext& c) {
  if (!c.wanted(0)) return;
  const Type& x = c.op().operand(0)->type;
  const int64_t given = c.attr("axis").AsInt();
  const Dim size = x.dim(static_cast<int>(given < 0 ? given + x.rank() : given));
  std::vector<NamedAttr> attrs = {{"axis", c.attr("axis")}, {"size", size}};
  Var at;
  if (c.has_operand(2)) {
    at = c.operand(2);
  } else {
    at = c.emit().Constant(c.attr("begin"), DType::kI64);
    if (c.attr("begin").AsInt() < 0) {
      const Type& like = c.op().operand(1)->type;
      const Dim whole = like.dim(static_cast<int>(given < 0 ? given + x.rank() : given));
      at = c.emit().DimValue(whole + c.attr("begin").AsDim());
    }
  }
  c.SetGrad(0, c.emit().Emit("slice", {c.grad(), at}, attrs));
}

}  // namespace

void DefineSlice(OpSet& ops) {
  OpTraits traits;
  traits.understands_ragged = true;
  ops.Define("slice")
      .Group("shape")
      .Doc(
          "The entries [begin, end) of one axis, or the `size` entries from `at` on. Negative "
          "numbers count from the end. A start outside the axis is an error when it runs. "
          "strided_slice has steps, and several axes.")
      .Formula("x[…, begin:end, …]")
      .In("x")
      .OptionalIn("at", "where to begin, i64, when that is not known before")
      .WithAttr("axis", AttrKind::kInt, 0)
      .WithAttr("begin", AttrKind::kInt, 0)
      .OptionalAttr("end", AttrKind::kInt, "the end of the axis when left out")
      .OptionalAttr("size", AttrKind::kInt, "with `at`: how many entries")
      .Traits(traits)
      .Infer(InferSlice)
      .Sizes("SliceSizes", FillSizes<false>)
      .Reference("Slice", RunReference<false>)
      .Cost(MovedCost)
      .Fast(MoveKernel("copies", RunCopies<false>))
      .TakesHalf()
      .Grad(GradOfSlice)
      .AddSample(
          {.inputs = {Floats({4}, {1, 2, 3, 4}), Tensor()}, .attrs = {{"begin", 1}, {"end", 3}}})
      .AddSample(
          {.inputs = {Uniform({4, 3}, -1, 1), Tensor()}, .attrs = {{"begin", 1}, {"end", 3}}})
      .AddSample(
          {.inputs = {Uniform({4, 3}, -1, 1), Tensor()}, .attrs = {{"axis", -1}, {"begin", -2}}})
      .AddSample({.inputs = {Uniform({2, 4, 3}, -1, 1), Tensor()},
                  .attrs = {{"axis", 1}, {"begin", 1}, {"end", -1}}})
      .AddSample({.inputs = {Uniform({2, 4, 3}, -1, 1), Ints({}, {2})},
                  .attrs = {{"axis", 1}, {"size", 2}}})
      .AddSample({.inputs = {RandomInts({4}, 0, 9), Tensor()}, .attrs = {{"end", 2}}})
      .AddSample(
          {.inputs = {Uniform({4, 3}, -1, 1), Tensor()}, .attrs = {{"begin", 2}, {"end", 2}}})
      .AddSample({.inputs = {Empty({0, 3}), Tensor()}, .attrs = {{"axis", 1}, {"end", 2}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Tensor()},
                  .attrs = {{"axis", 2}, {"begin", 1}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefinePlace(OpSet& ops) {
  OpTraits traits;
  traits.understands_ragged = true;
  ops.Define("place")
      .Group("shape")
      .Doc(
          "Zeros of the shape of `like`, with x from `begin`, or `at`, on along one axis. The "
          "gradient of slice.")
      .Formula("y = 0; y[…, begin:begin+size, …] = x")
      .In("x")
      .In("like", "only its shape matters")
      .OptionalIn("at", "where to begin, i64, when that is not known before")
      .WithAttr("axis", AttrKind::kInt, 0)
      .WithAttr("begin", AttrKind::kInt, 0)
      .Traits(traits)
      .Infer(InferPlace)
      .Sizes("SliceSizes", FillSizes<true>)
      .Reference("Place", RunReference<true>)
      .Fast(MoveKernel("copies", RunCopies<true>))
      .TakesHalf()
      .Grad(GradOfPlace)
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1), Uniform({4, 3}, -1, 1), Tensor()},
                  .attrs = {{"begin", 1}}})
      .AddSample({.inputs = {Uniform({4, 2}, -1, 1), Uniform({4, 3}, -1, 1), Tensor()},
                  .attrs = {{"axis", 1}, {"begin", -2}}})
      .AddSample({.inputs = {Uniform({2, 2}, -1, 1), Uniform({2, 4}, -1, 1), Ints({}, {2})},
                  .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({4, 3}, -1, 1), Tensor()}});
}

}  // namespace catamaran

#include "catamaran/ops/reduction/reduce.h"

#include <fmt/format.h>

namespace catamaran {

namespace {

using reference::ReduceSizes;

// Axes 0 … rank-1 that the attribute names; false when it is malformed.
bool AxesOf(const Op& op, int rank, bool (&reduced)[kMaxRank], std::string* why) {
  const Attr& axes = op.attr("axes");
  std::fill(reduced, reduced + kMaxRank, axes.empty());
  if (axes.empty()) return true;
  for (int64_t given : axes.AsInts()) {
    const int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) {
      *why = fmt::format("there is no axis {} in a tensor of {} dimensions", given, rank);
      return false;
    }
    if (reduced[axis]) {
      *why = fmt::format("axis {} is named twice", given);
      return false;
    }
    reduced[axis] = true;
  }
  return true;
}

void AxesOfChecked(const Op& op, int rank, bool (&reduced)[kMaxRank]) {
  std::string why;
  CATAMARAN_CHECK(AxesOf(op, rank, reduced, &why), "{}", why);
}

bool ResultDType(InferContext& c, ReduceTypes types, DType* dtype) {
  const DType x = c.type(0).dtype();
  if (IsFloat(x) && !c.WantFloat(0)) return false;
  *dtype = x;
  switch (types) {
    case ReduceTypes::kNumbers:
      if (x == DType::kBool) return c.Fail("does not work on bool; cast it first");
      break;
    case ReduceTypes::kSum:
      if (x == DType::kBool) *dtype = DType::kI64;
      break;
    case ReduceTypes::kMean:
      if (!IsFloat(x)) *dtype = DType::kF64;
      break;
    case ReduceTypes::kFloats:
      return c.WantFloat(0);
    case ReduceTypes::kCount:
      *dtype = DType::kI64;
      break;
    case ReduceTypes::kTruth:
      *dtype = DType::kBool;
      break;
  }
  return true;
}

// Where all sizes are known, an empty axis is found before anything runs.
bool KnownToLackElements(const Type& x, const bool* reduced, int* empty) {
  *empty = -1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim& dim = x.dim(axis);
    const bool zero = dim.is_constant() && dim.constant() == 0;
    if (!reduced[axis] && (zero || !dim.is_constant())) return false;
    if (reduced[axis] && zero) *empty = axis;
  }
  return *empty >= 0;
}

void InferReduction(InferContext& c, const ReduceTraits& traits) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  DType dtype;
  bool reduced[kMaxRank];
  if (!ResultDType(c, traits.types, &dtype) || !ReducedAxes(c, x.rank(), reduced)) return;
  int empty = -1;
  if (traits.wants_elements && KnownToLackElements(x, reduced, &empty)) {
    return (void)c.Fail(fmt::format("axis {} has no elements, so there is no result", empty));
  }
  const bool all = std::all_of(reduced, reduced + x.rank(), [](bool r) { return r; });
  const bool keep = c.op().attr("keepdims").AsBool();
  int ragged_axis = x.ragged_axis();
  if (ragged_axis >= 0 && !(all && !keep)) {
    for (int axis = 0; axis <= ragged_axis; ++axis) {
      if (!reduced[axis]) continue;
      return (void)c.Fail(
          fmt::format("reduces a ragged value along axes behind *{} only, or along all of them",
                      x.ragged_name()));
    }
  }
  std::vector<Dim> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[axis]) {
      dims.push_back(x.dim(axis));
    } else if (keep) {
      dims.push_back(1);
    }
  }
  if (all) ragged_axis = -1;
  c.SetResult(Type::Tensor(dtype, std::move(dims), ragged_axis));
}

ReduceSizes SizesFromFlags(const Shape& x, const bool* reduced, bool divide) {
  ReduceSizes s{};
  s.rank = x.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    s.dims[axis] = x[axis];
    s.reduced[axis] = reduced[axis];
  }
  s.divide = divide;
  return s;
}

}  // namespace

bool ReducedAxes(InferContext& c, int rank, bool (&reduced)[kMaxRank]) {
  std::string why;
  return AxesOf(c.op(), rank, reduced, &why) || c.Fail(why);
}

ReduceSizes ReduceSizesOf(const Op& op, const Shape& x, bool divide) {
  // A ragged operand is stored with one axis less than its type has.
  const int rank = op.operand(0)->type.rank();
  const int shift = rank - x.rank();
  bool reduced[kMaxRank];
  AxesOfChecked(op, rank, reduced);
  return SizesFromFlags(x, reduced + shift, divide);
}

ReduceSizes SumToSizesOf(const Shape& x, const Shape& like) {
  bool reduced[kMaxRank] = {};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int own = axis - x.rank() + like.rank();
    reduced[axis] = own < 0 || like[own] == 1;  // size 1 against size 1 goes either way
  }
  return SizesFromFlags(x, reduced, false);
}

void FillReduceSizes(const ReduceSizes& s, Words& words) {
  words << s.rank;
  for (int64_t dim : s.dims) words << dim;
  for (int64_t flag : s.reduced) words << flag;
  words << s.divide << s.flag << s.number;
}

ReduceSizes ReduceSizesNow(const KernelContext& context) {
  const Shape& x = context.in(0).shape();
  if (context.op->Is("sum_to")) return SumToSizesOf(x, context.out().shape());
  ReduceSizes s = context.sizes<ReduceSizes>();
  for (int axis = 0; axis < x.rank(); ++axis) s.dims[axis] = x[axis];
  return s;
}

void WantElements(const KernelContext& context, const ReduceSizes& s) {
  if (reference::ReducedElements(s) > 0 || reference::KeptElements(s) == 0) return;
  for (int64_t axis = 0; axis < s.rank; ++axis) {
    if (s.reduced[axis] && s.dims[axis] == 0) {
      Fail("axis {} of {} has no elements, so there is no result", axis,
           context.in(0).shape().ToString());
    }
  }
}

void ReductionSignature(OpBuilder& op, ReduceTraits traits, ReduceExtras extras) {
  OpTraits ragged;
  ragged.understands_ragged = true;
  op.Group("reduction")
      .In("x")
      .OptionalAttr("axes", AttrKind::kInts, "which axes go; all of them when left out")
      .WithAttr("keepdims", AttrKind::kBool, false, "the axes that go stay, with size 1")
      .Traits(ragged)
      .Infer([traits](InferContext& c) { InferReduction(c, traits); })
      .Sizes("ReduceSizes", [traits, extras](const KernelQuery& query, Words& words) {
        ReduceSizes s = ReduceSizesOf(*query.op, query.in[0]->shape(), traits.divide);
        if (extras) extras(*query.op, s);
        FillReduceSizes(s, words);
      });
}

KernelStatus RunSumReference(KernelContext& context) {
  const ReduceSizes s = ReduceSizesNow(context);
  const Slot& x = context.in(0);
  const Slot& y = context.out();
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t, bool>(
      x.tensor.dtype,
      [&]<class T>(T) {
        if (x.tensor.dtype == y.tensor.dtype) {
          reference::Sum(x.data<const T>(), y.data<T>(), s);
        } else if (y.tensor.dtype == DType::kI64) {
          reference::Sum(x.data<const T>(), y.data<int64_t>(), s);
        } else {
          reference::Sum(x.data<const T>(), y.data<double>(), s);
        }
      },
      context.op->name());
  return KernelStatus::kDone;
}

Var WithReducedAxes(GradContext& context, Var reduced) {
  const Type& x = context.op().operand(0)->type;
  if (context.attr("keepdims").AsBool()) return reduced;
  bool flags[kMaxRank];
  AxesOfChecked(context.op(), x.rank(), flags);
  // A scalar broadcasts as it is.
  if (std::all_of(flags, flags + x.rank(), [](bool f) { return f; })) return reduced;
  std::vector<Dim> dims;
  for (int axis = 0; axis < x.rank(); ++axis) dims.push_back(flags[axis] ? Dim(1) : x.dim(axis));
  return context.emit().Emit("reshape", {reduced}, {{"shape", Attr::Dims(dims)}});
}

Var ReduceAlike(GradContext& context, const char* op, Var x) {
  std::vector<NamedAttr> attrs = {{"keepdims", context.attr("keepdims")}};
  if (!context.attr("axes").empty()) attrs.push_back({"axes", context.attr("axes")});
  return context.emit().Emit(op, {x}, attrs);
}

Dim ReducedCount(const Op& op) {
  const Type& x = op.operand(0)->type;
  Dim count = 1;
  if (x.is_ragged() && !op.result()->type.is_ragged()) {
    for (const Dim& dim : x.StorageDims()) count = count * dim;
    return count;
  }
  bool flags[kMaxRank];
  AxesOfChecked(op, x.rank(), flags);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (flags[axis]) count = count * x.dim(axis);
  }
  return count;
}

Var DimAs(GradContext& context, const Dim& dim, DType dtype) {
  Emitter& emit = context.emit();
  if (dim.is_constant()) return emit.Constant(static_cast<double>(dim.constant()), dtype);
  return emit.Emit("cast", {emit.DimValue(dim)}, {{"dtype", dtype}});
}

void ShareAmongEquals(GradContext& context) {
  const Type& x = context.op().operand(0)->type;
  Emitter& emit = context.emit();
  Var equal = emit.Emit("equal", {context.operand(0), WithReducedAxes(context, context.result())});
  Var mask = emit.Emit("cast", {equal}, {{"dtype", x.dtype()}});
  Var share = emit.Emit("div", {context.grad(), ReduceAlike(context, "sum", mask)});
  context.SetGrad(0, emit.Emit("mul", {mask, WithReducedAxes(context, share)}));
}

}  // namespace catamaran

// ops/shape/fill.cc
//
// fill(shape, value): a tensor of one number; full_like and ones_like: the same with the type of
// another tensor.

#include <fmt/format.h>

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct FillSizes {
  int64_t count;
  double value;  // where it is not an operand
};

// x is null where the number is no operand.
template <class T>
void Fill(const T* x, T* y, const FillSizes& s) {
  const T value = x ? *x : static_cast<T>(s.value);
  for (int64_t i = 0; i < s.count; ++i) y[i] = value;
}

// x only lends its shape.
template <class T>
void FullLike(const T*, T* y, const FillSizes& s) {
  Fill(static_cast<const T*>(nullptr), y, s);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::FillSizes;

// Whether the number is one of this dtype.
bool WantValue(InferContext& c, DType dtype, double value) {
  if (IsFloat(dtype)) return true;
  const bool fits = dtype == DType::kBool ? value == 0 || value == 1
                    : IsSigned(dtype)     ? value == std::floor(value)
                                          : value == std::floor(value) && value >= 0;
  return fits || c.Fail(fmt::format("{} is no {}", value, Name(dtype)));
}

void InferFill(InferContext& c) {
  std::vector<Dim> dims = c.op().attr("shape").AsDims();
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return (void)c.Fail(fmt::format("a tensor has at most {} dimensions", kMaxRank));
  }
  for (const Dim& dim : dims) {
    if (dim.is_constant() && dim.constant() < 0) {
      return (void)c.Fail(fmt::format("a dimension is {}", dim.constant()));
    }
  }
  DType dtype = DType::kF32;
  if (c.has(0)) {
    if (!c.op().attr("dtype").empty()) c.AdoptLiteral(0, c.op().attr("dtype").AsDType());
    if (!c.WantTensor(0) || !c.WantRank(0, 0)) return;
    dtype = c.type(0).dtype();
    if (!c.op().attr("dtype").empty() && c.op().attr("dtype").AsDType() != dtype) {
      return (void)c.Fail(fmt::format("dtype is {}, x is {}; cast it",
                                      Name(c.op().attr("dtype").AsDType()), Name(dtype)));
    }
  } else {
    if (!c.op().attr("dtype").empty()) dtype = c.op().attr("dtype").AsDType();
    if (!WantValue(c, dtype, c.op().attr("value").AsDouble())) return;
  }
  c.SetResult(Type::Tensor(dtype, std::move(dims)));
}

void SetSizes(const KernelQuery& q, Words& words) {
  words << q.out[0]->size() << (q.op->Is("ones_like") ? 1.0 : q.op->attr("value").AsDouble());
}

// The slot's elements, all `value`.
template <class T>
void FillSlot(const KernelContext& c, T value) {
  T* y = c.out().data<T>();
  Split(c.pool, c.out().size(), 1,
        [&](int64_t begin, int64_t end) { std::fill(y + begin, y + end, value); });
}

KernelStatus RunFill(KernelContext& c) {
  DispatchAll(c.out().tensor.dtype, [&]<class T>(T) {
    FillSlot(c,
             c.has_in(0) ? *c.in(0).data<const T>() : static_cast<T>(c.sizes<FillSizes>().value));
  });
  return KernelStatus::kDone;
}

KernelStatus RunFullLike(KernelContext& c) {
  DispatchAll(c.out().tensor.dtype,
              [&]<class T>(T) { FillSlot(c, static_cast<T>(c.sizes<FillSizes>().value)); });
  return KernelStatus::kDone;
}

}  // namespace

void DefineFill(OpSet& ops) {
  ops.Define("fill")
      .Group("shape")
      .Doc("A tensor of that shape whose elements are all x, or the number `value`.")
      .Formula("y[…] = x")
      .OptionalIn("x", "a scalar, when the number is not known before")
      .RequiredAttr("shape", AttrKind::kInts, "the dimensions of the result")
      .WithAttr("value", AttrKind::kFloat, 0.0, "the number where there is no x")
      .OptionalAttr("dtype", AttrKind::kDType, "of the result; that of x, or f32, when left out")
      .Infer(InferFill)
      .Sizes("FillSizes", SetSizes)
      .Reference("Fill", RunFill)
      .TakesHalf()
      .Grad([](GradContext& c) {
        if (c.has_operand(0) && c.wanted(0)) c.SetGrad(0, c.emit().Emit("sum", {c.grad()}));
      })
      .AddSample({.inputs = {Floats({}, {7})}, .attrs = {{"shape", Attr::Ints({2, 3})}}})
      .AddSample({.inputs = {Tensor()}, .attrs = {{"shape", Attr::Ints({3})}, {"value", 0.5}}})
      .AddSample({.inputs = {Tensor()},
                  .attrs = {{"shape", Attr::Ints({2})}, {"value", -3.0}, {"dtype", DType::kI32}}})
      .AddSample({.inputs = {Tensor()},
                  .attrs = {{"shape", Attr::Ints({2})}, {"value", 1.0}, {"dtype", DType::kBool}}})
      .AddSample({.inputs = {RandomInts({}, 0, 9)}, .attrs = {{"shape", Attr::Ints({})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}, .attrs = {{"shape", Attr::Ints({0, 3})}}});
}

void DefineFullLike(OpSet& ops) {
  ops.Define("full_like")
      .Group("shape")
      .Doc("A tensor with the type of x whose elements are all `value`.")
      .Formula("y[…] = value")
      .In("x", "only its type matters")
      .RequiredAttr("value", AttrKind::kFloat, "the number")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0)) return;
        if (!WantValue(c, c.type(0).dtype(), c.op().attr("value").AsDouble())) return;
        c.SetResult(c.type(0));
      })
      .Sizes("FillSizes", SetSizes)
      .StopsGrad()
      .Reference("FullLike", RunFullLike)
      .TakesHalf()
      .AddSample({.inputs = {Floats({3}, {1, 2, 3})}, .attrs = {{"value", 7.0}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)}, .attrs = {{"value", -INFINITY}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}, .attrs = {{"value", 0.5}}})
      .AddSample({.inputs = {RandomInts({4}, -9, 9, DType::kI8)}, .attrs = {{"value", -7.0}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"value", 1.0}}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)},
                  .attrs = {{"value", 2.0}},
                  .ragged_lengths = {{2, 0, 3}}});
}

void DefineOnesLike(OpSet& ops) {
  ops.Define("ones_like")
      .Group("shape")
      .Doc("Ones (or true) with the type of x.")
      .Formula("1")
      .In("x", "only its type matters")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (c.WantTensor(0)) c.SetResult(c.type(0));
      })
      .Sizes("FillSizes", SetSizes)
      .StopsGrad()
      .Reference("FullLike", RunFullLike)
      .TakesHalf()
      .AddSample({.inputs = {Floats({2, 2}, {1, 2, 3, 4})}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {RandomInts({4}, -9, 9)}})
      .AddSample({.inputs = {Bools({2}, {true, false})}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}});
}

}  // namespace catamaran

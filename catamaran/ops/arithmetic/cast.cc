// ops/arithmetic/cast.cc
//
// cast(x, dtype): the same numbers in another dtype.

#include "catamaran/tensor/cast.h"

#include <algorithm>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/op.h"

// reference-begin
namespace catamaran::reference {

struct CastSizes {
  int64_t count;
};

// To integers: cut off towards zero, NaN gives 0, out of range gives the nearest end. To bool
// (`to_bool`): whether it is not 0. Among integers: the low bits.
template <class From, class To>
To CastOne(From x, bool to_bool) {
  constexpr bool from_float = static_cast<From>(0.5) != static_cast<From>(0);
  constexpr bool to_float = static_cast<To>(0.5) != static_cast<To>(0);
  if (to_bool) return static_cast<To>(x != From(0));
  if constexpr (from_float && !to_float) {
    constexpr bool is_signed = static_cast<To>(-1) < static_cast<To>(1);
    constexpr int bits = static_cast<int>(sizeof(To)) * 8 - (is_signed ? 1 : 0);
    const uint64_t top = (uint64_t{1} << (bits - 1)) - 1 + (uint64_t{1} << (bits - 1));
    const double end = 2.0 * static_cast<double>(uint64_t{1} << (bits - 1));
    if (x != x) return To(0);
    if (static_cast<double>(x) >= end) return static_cast<To>(top);
    if (static_cast<double>(x) <= (is_signed ? -end : 0.0)) {
      return is_signed ? static_cast<To>(top + 1) : To(0);
    }
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void CastAll(const From* x, To* y, const CastSizes& s, bool to_bool) {
  for (int64_t i = 0; i < s.count; ++i) y[i] = CastOne<From, To>(x[i], to_bool);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

// Halves are not among the types of generated programs: only the fast kernel converts them.
KernelStatus RunReference(KernelContext& context) {
  const Slot& x = context.in(0);
  const Slot& y = context.out();
  const auto is_half = [](DType d) { return d == DType::kF16 || d == DType::kBF16; };
  if (is_half(x.tensor.dtype) || is_half(y.tensor.dtype)) {
    CastInto(x.tensor, y.tensor);
    return KernelStatus::kDone;
  }
  const bool to_bool = y.tensor.dtype == DType::kBool;
  const auto plain = [](DType d) { return d == DType::kBool ? DType::kU8 : d; };
  const reference::CastSizes sizes{x.size()};
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      plain(x.tensor.dtype),
      [&](auto from) {
        DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
            plain(y.tensor.dtype),
            [&](auto to) {
              reference::CastAll(x.data<const decltype(from)>(), y.data<decltype(to)>(), sizes,
                                 to_bool);
            },
            "cast");
      },
      "cast");
  return KernelStatus::kDone;
}

KernelStatus RunConvert(KernelContext& context) {
  const TensorView& x = context.in(0).tensor;
  const TensorView& y = context.out().tensor;
  const int64_t count = x.num_elements();
  constexpr int64_t kGrain = 16384;
  if (context.pool == nullptr || context.pool->threads() == 1 || count < 2 * kGrain) {
    CastInto(x, y);
    return KernelStatus::kDone;
  }
  context.pool->ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    const auto part = [&](const TensorView& whole) {
      return TensorView{
          static_cast<char*>(whole.data) + begin * static_cast<int64_t>(SizeOf(whole.dtype)),
          whole.dtype, Shape{end - begin}};
    };
    CastInto(part(x), part(y));
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineCast(OpSet& ops) {
  OpTraits traits;
  traits.rowwise = true;
  Kernel convert;
  convert.name = "convert";
  convert.run = RunConvert;
  ops.Define("cast")
      .Group("arithmetic")
      .Doc(
          "The same numbers in another dtype. To a float: rounded to nearest. From a float to an "
          "integer: cut off towards zero; NaN gives 0, what is out of range the nearest end. Among "
          "integers: the low bits. To bool: whether it is not 0. Gradients flow between floats "
          "only.")
      .Formula("x as dtype")
      .In("x")
      .RequiredAttr("dtype", AttrKind::kDType)
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (c.WantTensor(0)) c.SetResult(c.type(0).WithDType(c.op().attr("dtype").AsDType()));
      })
      .Sizes("CastSizes",
             [](const KernelQuery& query, Words& words) { words << query.in[0]->size(); })
      .Reference("CastAll", RunReference)
      .Fast(convert)
      .TakesHalf()
      .Grad([](GradContext& c) {
        const Type& x = c.op().operand(0)->type;
        if (!IsFloat(x.dtype()) || !IsFloat(c.attr("dtype").AsDType())) return;
        c.SetGrad(0, c.emit().Emit("cast", {c.grad()}, {{"dtype", x.dtype()}}));
      })
      .AddSample({.inputs = {Uniform({4, 3}, -9, 9)}, .attrs = {{"dtype", DType::kF64}}})
      .AddSample({.inputs = {Uniform({4, 3}, -9, 9)},
                  .attrs = {{"dtype", DType::kF32}},
                  .tolerance = 1e-3})
      .AddSample({.inputs = {Floats({8}, {0, -0.0, 1.9, -1.9, 1e30, -1e30, NAN, 300})},
                  .attrs = {{"dtype", DType::kU8}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({8}, {0, -0.0, 1.9, -1.9, 1e30, -1e30, NAN, 300})},
                  .attrs = {{"dtype", DType::kI64}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({8}, {0, -0.0, 1.9, -1.9, 1e30, -1e30, NAN, 300})},
                  .attrs = {{"dtype", DType::kI32}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({8}, {0, -0.0, 1.9, -1.9, 1e30, -1e30, NAN, 300})},
                  .attrs = {{"dtype", DType::kU64}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({4}, {0, -0.0, 1e-40, NAN})},
                  .attrs = {{"dtype", DType::kBool}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({4}, {0, 1, -2.5, 1e6})},
                  .attrs = {{"dtype", DType::kBF16}},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({9}, -999, 999)}, .attrs = {{"dtype", DType::kI8}}})
      .AddSample({.inputs = {RandomInts({9}, -999, 999)}, .attrs = {{"dtype", DType::kF32}}})
      .AddSample({.inputs = {Bools({3}, {true, false, true})}, .attrs = {{"dtype", DType::kF32}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"dtype", DType::kI32}}});
}

}  // namespace catamaran

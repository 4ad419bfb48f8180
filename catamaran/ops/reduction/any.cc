// ops/reduction/any.cc
//
// any, all and count_nonzero: how many elements along axes are not zero, and whether some or all
// are.

#include "catamaran/ops/reduction/reduce_vector.h"

// reference-begin
namespace catamaran::reference {

// NaN is not zero.
template <class T>
void CountNonzero(const T* x, int64_t* y, const ReduceSizes& s) {
  const int64_t kept = KeptElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    y[o] = 0;
    ForEachReduced(x, s, o, [&](T v) { y[o] += v != T(0); });
  }
}

// `flag`: whether all are true, in place of any.
template <class T, class B>
void AnyOrAll(const T* x, B* y, const ReduceSizes& s) {
  const int64_t kept = KeptElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    bool some = false, every = true;
    ForEachReduced(x, s, o, [&](T v) {
      some |= v != T(0);
      every &= v != T(0);
    });
    y[o] = static_cast<B>(s.flag ? every : some);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunCount(KernelContext& context) {
  const reference::ReduceSizes s = ReduceSizesNow(context);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t, bool>(
      context.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::CountNonzero(context.in(0).data<const T>(), context.out().data<int64_t>(), s);
      },
      context.op->name());
  return KernelStatus::kDone;
}

KernelStatus RunTruth(KernelContext& context) {
  const reference::ReduceSizes s = ReduceSizesNow(context);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t, bool>(
      context.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::AnyOrAll(context.in(0).data<const T>(), context.out().data<bool>(), s);
      },
      context.op->name());
  return KernelStatus::kDone;
}

ReduceChoice ChooseCount(const KernelQuery&) { return {ReduceKind::kNonzero}; }
template <bool kAll>
ReduceChoice ChooseTruth(const KernelQuery&) {
  return {ReduceKind::kNonzero, kAll ? ReduceFinish::kAll : ReduceFinish::kAny};
}

OpBuilder& AddSamples(OpBuilder& op) {
  return op
      .AddSample({.inputs = {Bools({2, 3}, {true, false, true, false, false, false})},
                  .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Bools({2, 2}, {true, true, true, true})}})
      .AddSample({.inputs = {Bools({}, {false})}})
      .AddSample({.inputs = {Floats({2, 3}, {0, -0.0, NAN, 0, 0, 0})},
                  .attrs = {{"axes", Attr::Ints({-1})}}})
      .AddSample({.inputs = {RandomInts({40, 3}, 0, 2, DType::kI32)},
                  .attrs = {{"axes", Attr::Ints({0})}, {"keepdims", true}}})
      .AddSample({.inputs = {RandomInts({3, 50000}, 0, 2, DType::kBool)},
                  .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {RandomInts({3, 333}, 0, 2, DType::kI64)}})
      .AddSample({.inputs = {RandomInts({2, 3, 70}, 0, 9, DType::kU64)},
                  .attrs = {{"axes", Attr::Ints({0, 2})}}})
      .AddSample({.inputs = {Empty({0, 3}, DType::kBool)}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Floats({3, 2}, {0, 1, 0, 0, 1, 1})},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 1}},
                  .note = "ragged"});
}

}  // namespace

void DefineCountNonzero(OpSet& ops) {
  OpBuilder op = ops.Define("count_nonzero");
  ReductionSignature(op, {.types = ReduceTypes::kCount});
  op.Doc("How many elements along `axes` are not zero (not false); NaN is not zero.")
      .Formula("y[k] = the number of r with x[k, r] != 0, r over the axes that go")
      .Reference("CountNonzero", RunCount)
      .Fast(VectorReduceKernel(ChooseCount, RunCount))
      .StopsGrad();
  AddSamples(op);
}

void DefineAny(OpSet& ops) {
  OpBuilder op = ops.Define("any");
  ReductionSignature(op, {.types = ReduceTypes::kTruth});
  op.Doc("Whether some element along `axes` is true, or not zero; false where there are none.")
      .Formula("y[k] = x[k, r] != 0 for some r over the axes that go")
      .Reference("AnyOrAll", RunTruth)
      .Fast(VectorReduceKernel(ChooseTruth<false>, RunTruth))
      .StopsGrad();
  AddSamples(op);
}

void DefineAll(OpSet& ops) {
  OpBuilder op = ops.Define("all");
  ReductionSignature(op, {.types = ReduceTypes::kTruth},
                     [](const Op&, reference::ReduceSizes& sizes) { sizes.flag = 1; });
  op.Doc("Whether every element along `axes` is true, or not zero; true where there are none.")
      .Formula("y[k] = x[k, r] != 0 for every r over the axes that go")
      .Reference("AnyOrAll", RunTruth)
      .Fast(VectorReduceKernel(ChooseTruth<true>, RunTruth))
      .StopsGrad();
  AddSamples(op);
}

}  // namespace catamaran

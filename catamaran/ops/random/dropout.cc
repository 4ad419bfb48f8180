// ops/random/dropout.cc
//
// dropout(x, key, rate): each element is 0 with probability `rate`, else scaled up.

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct DropoutSizes {
  int64_t count;
  double rate;
};

// The same elements fall for every T.
template <class T>
void Dropout(const T* x, const uint64_t* key, T* y, const DropoutSizes& s) {
  const T scale = static_cast<T>(1.0 / (1.0 - s.rate));
  const float rate = static_cast<float>(s.rate);
  for (int64_t i = 0; i < s.count; ++i) {
    y[i] = UniformElement<float>(*key, i) < rate ? T(0) : x[i] * scale;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

void InferDropout(InferContext& c) {
  if (!c.WantFloat(0) || !WantKey(c, 1)) return;
  const double rate = c.op().attr("rate").AsDouble();
  if (!(rate >= 0 && rate < 1)) return (void)c.Fail("rate must be at least 0 and below 1");
  c.SetResult(c.type(0));
}

KernelStatus RunReference(KernelContext& context) {
  reference::DropoutSizes s{context.in(0).size(), context.op->attr("rate").AsDouble()};
  DispatchFloating(
      context.out().tensor.dtype,
      [&](auto zero) {
        using T = decltype(zero);
        reference::Dropout(context.in(0).data<const T>(), context.in(1).data<const uint64_t>(),
                           context.out().data<T>(), s);
      },
      "dropout");
  return KernelStatus::kDone;
}

KernelStatus RunBlocks(KernelContext& context) {
  const double rate = context.sizes<reference::DropoutSizes>().rate;
  const uint64_t key = KeyOf(context, 1);
  const RandomKernels& kernels = RandomKernelsOf(context);
  const auto limit = static_cast<float>(rate);
  DispatchFloating(
      context.out().tensor.dtype,
      [&](auto zero) {
        using T = decltype(zero);
        const T* x = context.in(0).data<const T>();
        T* y = context.out().data<T>();
        const T scale = static_cast<T>(1.0 / (1.0 - rate));
        SplitRandom(context.pool, context.in(0).size(), [&](int64_t begin, int64_t end) {
          if constexpr (sizeof(T) == 4) {
            kernels.dropout_f32(key, limit, scale, x, y, begin, end);
          } else {
            kernels.dropout_f64(key, limit, scale, x, y, begin, end);
          }
        });
      },
      "dropout");
  return KernelStatus::kDone;
}

}  // namespace

void DefineDropout(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  traits.rowwise = true;
  ops.Define("dropout")
      .Group("random")
      .Doc(
          "Each element becomes 0 with probability `rate`, and else x / (1 - rate). Which ones is "
          "a function of the key and of their place.")
      .Formula("where(u < rate, 0, x / (1 - rate)), u uniform in [0, 1)")
      .In("x")
      .In("key", "u64, such as key()")
      .RequiredAttr("rate", AttrKind::kFloat, "at least 0, below 1")
      .Traits(traits)
      .Infer(InferDropout)
      .Sizes("DropoutSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.in[0]->size() << query.op->attr("rate").AsDouble();
             })
      .Reference("Dropout", RunReference)
      .Fast(BlocksKernel(RunBlocks))
      .Grad([](GradContext& c) {
        if (!c.wanted(0)) return;
        c.SetGrad(0,
                  c.emit().Emit("dropout", {c.grad(), c.operand(1)}, {{"rate", c.attr("rate")}}));
      })
      .AddSample({.inputs = {Uniform({5, 5}, -1, 1), Ints({}, {7}, DType::kU64)},
                  .attrs = {{"rate", 0.5}}})
      .AddSample({.inputs = {Uniform({9001}, -1, 1), Ints({}, {8}, DType::kU64)},
                  .attrs = {{"rate", 0.1}},
                  .check_gradient = false})
      .AddSample(
          {.inputs = {Uniform({7}, -1, 1), Ints({}, {7}, DType::kU64)}, .attrs = {{"rate", 0.0}}})
      .AddSample({.inputs = {Empty({0, 3}), Ints({}, {7}, DType::kU64)}, .attrs = {{"rate", 0.5}}});
}

}  // namespace catamaran

// ops/random/uniform.cc
//
// uniform(key, shape, low, high): random numbers spread evenly over [low, high).

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct UniformSizes {
  int64_t count;
  double low;
  double high;
};

template <class T>
void Uniform(const uint64_t* key, T* y, const UniformSizes& s) {
  const T low = static_cast<T>(s.low), width = static_cast<T>(s.high - s.low);
  for (int64_t i = 0; i < s.count; ++i) y[i] = low + width * UniformElement<T>(*key, i);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunReference(KernelContext& context) {
  reference::UniformSizes s{context.out().size(), context.op->attr("low").AsDouble(),
                            context.op->attr("high").AsDouble()};
  DispatchFloating(
      context.out().tensor.dtype,
      [&](auto zero) {
        reference::Uniform(context.in(0).data<const uint64_t>(),
                           context.out().data<decltype(zero)>(), s);
      },
      "uniform");
  return KernelStatus::kDone;
}

KernelStatus RunBlocks(KernelContext& context) {
  const auto& s = context.sizes<reference::UniformSizes>();
  const auto low = static_cast<float>(s.low), width = static_cast<float>(s.high - s.low);
  float* y = context.out().data<float>();
  SplitRandom(context.pool, context.out().size(), [&](int64_t begin, int64_t end) {
    RandomKernelsOf(context).uniform(KeyOf(context, 0), low, width, y, begin, end);
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineUniform(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  Kernel blocks = BlocksKernel(RunBlocks);
  blocks.supports = [](const KernelQuery& query) {
    return query.out[0]->tensor.dtype == DType::kF32;
  };
  ops.Define("uniform")
      .Group("random")
      .Doc(
          "Random numbers spread evenly over [low, high). Element i is a function of the key and "
          "of i.")
      .Formula("low + (high - low) * u, u uniform in [0, 1)")
      .In("key", "u64, such as key()")
      .RequiredAttr("shape", AttrKind::kInts)
      .WithAttr("low", AttrKind::kFloat, 0.0)
      .WithAttr("high", AttrKind::kFloat, 1.0)
      .WithAttr("dtype", AttrKind::kDType, DType::kF32)
      .Traits(traits)
      .Infer(InferRandom)
      .Sizes("UniformSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.out[0]->size() << query.op->attr("low").AsDouble()
                     << query.op->attr("high").AsDouble();
             })
      .Reference("Uniform", RunReference)
      .Fast(blocks)
      .StopsGrad()
      .AddSample({.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"shape", Attr::Ints({3, 5})}}})
      .AddSample({.inputs = {Ints({}, {7}, DType::kU64)},
                  .attrs = {{"shape", Attr::Ints({33})},
                            {"low", -2.0},
                            {"high", 3.0},
                            {"dtype", DType::kF64}}})
      .AddSample({.inputs = {Ints({}, {1}, DType::kU64)},
                  .attrs = {{"shape", Attr::Ints({9001})}, {"low", -1.0}}})
      .AddSample(
          {.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"shape", Attr::Ints({0, 5})}}});
}

}  // namespace catamaran

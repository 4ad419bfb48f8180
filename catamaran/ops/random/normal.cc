// ops/random/normal.cc
//
// normal(key, shape, mean, std): normally distributed random numbers.

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct NormalSizes {
  int64_t count;
  double mean;
  double std;
};

template <class T>
void Normal(const uint64_t* key, T* y, const NormalSizes& s) {
  const T mean = static_cast<T>(s.mean), std = static_cast<T>(s.std);
  for (int64_t i = 0; i < s.count; ++i) y[i] = mean + std * NormalElement<T>(*key, i);
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunReference(KernelContext& context) {
  reference::NormalSizes s{context.out().size(), context.op->attr("mean").AsDouble(),
                           context.op->attr("std").AsDouble()};
  DispatchFloating(
      context.out().tensor.dtype,
      [&](auto zero) {
        reference::Normal(context.in(0).data<const uint64_t>(),
                          context.out().data<decltype(zero)>(), s);
      },
      "normal");
  return KernelStatus::kDone;
}

template <class T>
void FillBlocks(const RandomKernels& kernels, uint64_t key, T mean, T std, T* y, int64_t begin,
                int64_t end) {
  constexpr int64_t kPiece = 128;
  float z[kPiece];
  for (int64_t at = begin; at < end; at += kPiece) {
    const int64_t n = std::min(kPiece, end - at);
    if (!kernels.normal(key, at, at + n, z)) {
      for (int64_t i = 0; i < n; ++i) z[i] = reference::NormalElement<float>(key, at + i);
    }
    for (int64_t i = 0; i < n; ++i) y[at + i] = mean + std * static_cast<T>(z[i]);
  }
}

KernelStatus RunBlocks(KernelContext& context) {
  DispatchFloating(
      context.out().tensor.dtype,
      [&](auto zero) {
        using T = decltype(zero);
        const auto& s = context.sizes<reference::NormalSizes>();
        const auto mean = static_cast<T>(s.mean), std = static_cast<T>(s.std);
        T* y = context.out().data<T>();
        SplitRandom(context.pool, context.out().size(), [&](int64_t begin, int64_t end) {
          FillBlocks(RandomKernelsOf(context), KeyOf(context, 0), mean, std, y, begin, end);
        });
      },
      "normal");
  return KernelStatus::kDone;
}

}  // namespace

void DefineNormal(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  ops.Define("normal")
      .Group("random")
      .Doc(
          "Normally distributed random numbers. Element i is a function of the key and of i. In "
          "f64 they have the resolution of f32.")
      .Formula("mean + std * z, z normal")
      .In("key", "u64, such as key()")
      .RequiredAttr("shape", AttrKind::kInts)
      .WithAttr("mean", AttrKind::kFloat, 0.0)
      .WithAttr("std", AttrKind::kFloat, 1.0)
      .WithAttr("dtype", AttrKind::kDType, DType::kF32)
      .Traits(traits)
      .Infer(InferRandom)
      .Sizes("NormalSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.out[0]->size() << query.op->attr("mean").AsDouble()
                     << query.op->attr("std").AsDouble();
             })
      .Reference("Normal", RunReference)
      .Fast(BlocksKernel(RunBlocks))
      .StopsGrad()
      .AddSample({.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"shape", Attr::Ints({3, 5})}}})
      .AddSample({.inputs = {Ints({}, {7}, DType::kU64)},
                  .attrs = {{"shape", Attr::Ints({33})},
                            {"mean", -2.0},
                            {"std", 3.0},
                            {"dtype", DType::kF64}}})
      .AddSample({.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"shape", Attr::Ints({9001})}}})
      .AddSample(
          {.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"shape", Attr::Ints({0, 5})}}});
}

}  // namespace catamaran

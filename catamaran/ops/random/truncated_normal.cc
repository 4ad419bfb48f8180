// ops/random/truncated_normal.cc
//
// truncated_normal(key, shape, mean, std, low, high): normal random numbers without their tails.

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct TruncatedNormalSizes {
  int64_t count;
  double mean;
  double std;
  double low;  // in deviations from the mean
  double high;
};

// The probability that a normal variable is below z.
inline double NormalBelow(double z) { return 0.5 * std::erfc(z * -0.7071067811865476); }

// The z below which a normal variable falls with probability p, for p in (0, 0.5]: a rough start in
// the logarithm of p, then steps that each about triple the digits.
inline double NormalQuantile(double p) {
  const double t = std::sqrt(-2 * std::log(p));
  double z = -t + (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t));
  for (int step = 0; step < 3; ++step) {
    const double density = 0.3989422804014327 * std::exp(-0.5 * z * z);
    if (density <= 0) break;
    const double error = (NormalBelow(z) - p) / density;
    z -= error / (1 + 0.5 * z * error);
  }
  return z;
}

// By inverting the distribution. An interval in the upper half is mirrored, so that tails keep
// their digits.
template <class T>
void TruncatedNormal(const uint64_t* key, T* y, const TruncatedNormalSizes& s) {
  const bool mirrored = s.low > 0;
  const double low = mirrored ? -s.high : s.low, high = mirrored ? -s.low : s.high;
  const double begin = NormalBelow(low), end = NormalBelow(high);
  for (int64_t i = 0; i < s.count; ++i) {
    const double p = begin + (end - begin) * UniformElement<double>(*key, i);
    double z = p <= 0 ? low : p < 0.5 ? NormalQuantile(p) : -NormalQuantile(1 - p);
    z = z < low ? low : z > high ? high : z;
    y[i] = static_cast<T>(s.mean + s.std * (mirrored ? -z : z));
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

void InferTruncatedNormal(InferContext& c) {
  const double low = c.op().attr("low").AsDouble(), high = c.op().attr("high").AsDouble();
  if (!(low < high)) return (void)c.Fail("low must be below high");
  InferRandom(c);
}

// Element i is its own, so that pieces may run on any thread.
KernelStatus RunTruncatedNormal(KernelContext& context) {
  const auto s = context.sizes<reference::TruncatedNormalSizes>();
  DispatchFloating(
      context.out().tensor.dtype,
      [&](auto zero) {
        reference::TruncatedNormal(context.in(0).data<const uint64_t>(),
                                   context.out().data<decltype(zero)>(), s);
      },
      "truncated_normal");
  return KernelStatus::kDone;
}

}  // namespace

void DefineTruncatedNormal(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  const auto sample = [](std::vector<NamedAttr> attrs) {
    return Sample{.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = std::move(attrs)};
  };
  ops.Define("truncated_normal")
      .Group("random")
      .Doc(
          "Normally distributed random numbers from low to high deviations around the mean only, "
          "by "
          "default two to either side. Element i is a function of the key and of i.")
      .Formula("mean + std * z, z normal given that low <= z <= high")
      .In("key", "u64, such as key()")
      .RequiredAttr("shape", AttrKind::kInts)
      .WithAttr("mean", AttrKind::kFloat, 0.0)
      .WithAttr("std", AttrKind::kFloat, 1.0)
      .WithAttr("low", AttrKind::kFloat, -2.0, "in deviations from the mean")
      .WithAttr("high", AttrKind::kFloat, 2.0, "in deviations from the mean")
      .WithAttr("dtype", AttrKind::kDType, DType::kF32)
      .Traits(traits)
      .Infer(InferTruncatedNormal)
      .Sizes("TruncatedNormalSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.out[0]->size();
               for (const char* name : {"mean", "std", "low", "high"}) {
                 words << query.op->attr(name).AsDouble();
               }
             })
      .Reference("TruncatedNormal", RunTruncatedNormal)
      .StopsGrad()
      .AddSample(sample({{"shape", Attr::Ints({2, 3})}}))
      .AddSample(sample(
          {{"shape", Attr::Ints({33})}, {"mean", -2.0}, {"std", 3.0}, {"dtype", DType::kF64}}))
      .AddSample(sample({{"shape", Attr::Ints({50})}, {"low", 5.0}, {"high", 6.0}}))
      .AddSample(sample({{"shape", Attr::Ints({50})}, {"low", -INFINITY}, {"high", 0.5}}))
      .AddSample(sample({{"shape", Attr::Ints({0, 5})}}));
}

}  // namespace catamaran

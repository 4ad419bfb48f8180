// ops/random/alpha_dropout.cc
//
// alpha_dropout(x, key, rate): dropout for layers with selu, which keeps mean and variance.

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct AlphaDropoutSizes {
  int64_t count;
  double rate;
};

// What drops becomes selu's limit for small x; then scale and offset bring mean 0 and variance 1
// back. The same elements drop as in dropout.
template <class T>
void AlphaDropout(const T* x, const uint64_t* key, T* y, const AlphaDropoutSizes& s) {
  const double limit = -1.7580993408473766;  // minus alpha times scale of selu
  const double scale = 1 / std::sqrt((1 - s.rate) * (1 + s.rate * limit * limit));
  const double offset = -scale * limit * s.rate;
  const T a = static_cast<T>(scale), b = static_cast<T>(offset);
  const T dropped = static_cast<T>(scale * limit + offset);
  const float rate = static_cast<float>(s.rate);
  for (int64_t i = 0; i < s.count; ++i) {
    y[i] = UniformElement<float>(*key, i) < rate ? dropped : a * x[i] + b;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

void InferAlphaDropout(InferContext& c) {
  if (!c.WantFloat(0) || !WantKey(c, 1)) return;
  const double rate = c.op().attr("rate").AsDouble();
  if (!(rate >= 0 && rate < 1)) return (void)c.Fail("rate must be at least 0 and below 1");
  c.SetResult(c.type(0));
}

KernelStatus RunAlphaDropout(KernelContext& context) {
  auto s = context.sizes<reference::AlphaDropoutSizes>();
  s.count = context.in(0).size();
  DispatchFloating(
      context.out().tensor.dtype,
      [&](auto zero) {
        using T = decltype(zero);
        reference::AlphaDropout(context.in(0).data<const T>(), context.in(1).data<const uint64_t>(),
                                context.out().data<T>(), s);
      },
      "alpha_dropout");
  return KernelStatus::kDone;
}

// What stays is scaled; dropout scales by 1 / (1 - rate).
void GradOfAlphaDropout(GradContext& c) {
  if (!c.wanted(0)) return;
  const double rate = c.attr("rate").AsDouble();
  const double limit = 1.7580993408473766;
  const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * limit * limit));
  Emitter& e = c.emit();
  const Var kept = e.Emit("dropout", {c.grad(), c.operand(1)}, {{"rate", c.attr("rate")}});
  c.SetGrad(0, kept * (scale * (1 - rate)));
}

}  // namespace

void DefineAlphaDropout(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  traits.rowwise = true;
  ops.Define("alpha_dropout")
      .Group("random")
      .Doc(
          "Dropout for layers with selu: each element becomes selu's limit for small x with "
          "probability `rate`, and all are scaled such that mean 0 and variance 1 stay. Which ones "
          "is a function of the key and of their place.")
      .Formula("a * where(u < rate, -1.7581, x) + b, u uniform in [0, 1)")
      .In("x")
      .In("key", "u64, such as key()")
      .RequiredAttr("rate", AttrKind::kFloat, "at least 0, below 1")
      .Traits(traits)
      .Infer(InferAlphaDropout)
      .Sizes("AlphaDropoutSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.in[0]->size() << query.op->attr("rate").AsDouble();
             })
      .Reference("AlphaDropout", RunAlphaDropout)
      .Grad(GradOfAlphaDropout)
      .AddSample({.inputs = {Floats({4}, {-1, 0, 1, 2}), Ints({}, {7}, DType::kU64)},
                  .attrs = {{"rate", 0.5}}})
      .AddSample({.inputs = {Uniform({5, 5}, -1, 1), Ints({}, {8}, DType::kU64)},
                  .attrs = {{"rate", 0.25}}})
      .AddSample(
          {.inputs = {Uniform({7}, -1, 1), Ints({}, {7}, DType::kU64)}, .attrs = {{"rate", 0.0}}})
      .AddSample({.inputs = {Empty({0, 3}), Ints({}, {7}, DType::kU64)}, .attrs = {{"rate", 0.5}}});
}

}  // namespace catamaran

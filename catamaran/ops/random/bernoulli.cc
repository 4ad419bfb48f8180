// ops/random/bernoulli.cc
//
// bernoulli(p, key): true with the probability that each element says.

#include <fmt/format.h>

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct BernoulliSizes {
  int64_t count;
  int64_t step;  // 1, or 0 where one p is for all
};

template <class T>
void Bernoulli(const T* p, const uint64_t* key, uint8_t* y, const BernoulliSizes& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    y[i] = UniformElement<double>(*key, i) < static_cast<double>(p[i * s.step]);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

void InferBernoulli(InferContext& c) {
  if (!c.WantFloat(0) || !WantKey(c, 1)) return;
  const Attr& shape = c.op().attr("shape");
  if (shape.empty()) return c.SetResult(c.type(0).WithDType(DType::kBool));
  if (!c.type(0).is_scalar()) {
    return (void)c.Fail(
        fmt::format("with a shape, p must be one number, found {}", c.type(0).ToString()));
  }
  c.SetResult(Type::Tensor(DType::kBool, shape.AsDims()));
}

KernelStatus RunBernoulli(KernelContext& context) {
  const reference::BernoulliSizes s{context.out().size(), context.in(0).shape().rank() > 0};
  DispatchFloating(
      context.in(0).tensor.dtype,
      [&](auto zero) {
        reference::Bernoulli(context.in(0).data<const decltype(zero)>(),
                             context.in(1).data<const uint64_t>(), context.out().data<uint8_t>(),
                             s);
      },
      "bernoulli");
  return KernelStatus::kDone;
}

}  // namespace

void DefineBernoulli(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  traits.rowwise = true;
  ops.Define("bernoulli")
      .Group("random")
      .Doc(
          "True with probability p, else false; cast it to multiply with it. p says the shape of "
          "the "
          "result; where p is one number, `shape` may say it. p at or below 0, and NaN, give "
          "false, "
          "at or above 1 true. Element i is a function of the key and of i.")
      .Formula("u < p, u uniform in [0, 1)")
      .In("p", "probabilities")
      .In("key", "u64, such as key()")
      .OptionalAttr("shape", AttrKind::kInts, "of the result, where p is one number")
      .Traits(traits)
      .Infer(InferBernoulli)
      .Sizes("BernoulliSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.out[0]->size() << (query.in[0]->shape().rank() > 0);
             })
      .Reference("Bernoulli", RunBernoulli)
      .StopsGrad()
      .AddSample({.inputs = {Floats({4}, {0.1, 0.5, 0.9, 1}), Ints({}, {7}, DType::kU64)}})
      .AddSample({.inputs = {Floats({}, {0.25}), Ints({}, {7}, DType::kU64)},
                  .attrs = {{"shape", Attr::Ints({3, 5})}}})
      .AddSample({.inputs = {Floats({}, {0.5}), Ints({}, {8}, DType::kU64)}})
      .AddSample({.inputs = {Floats({5}, {0, 1, -1, 2, NAN}), Ints({}, {8}, DType::kU64)}})
      .AddSample({.inputs = {Uniform({6, 3}, 0, 1), Ints({}, {9}, DType::kU64)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"})
      .AddSample({.inputs = {Empty({0, 3}), Ints({}, {7}, DType::kU64)}});
}

}  // namespace catamaran

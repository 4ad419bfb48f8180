// ops/random/randint.cc
//
// randint(key, shape, low, high): random integers; and permutation(key, n), which draws with them.

#include <fmt/format.h>

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

// 64 random bits as an integer in [0, range): the upper half of their product. Every value comes up
// within one part in 2^64 / range as often as any other.
inline uint64_t BelowRange(const PhiloxBlock& block, int half, uint64_t range) {
  const uint64_t high = block.words[half], low = block.words[half + 1];
  const uint64_t r1 = range >> 32, r0 = range & 0xFFFFFFFFu;
  const uint64_t middle = high * r0 + (low * r0 >> 32);
  const uint64_t other = low * r1 + (middle & 0xFFFFFFFFu);
  return high * r1 + (middle >> 32) + (other >> 32);
}

struct RandintSizes {
  int64_t count;
  int64_t low;
  int64_t high;
};

template <class T>
void Randint(const uint64_t* key, T* y, const RandintSizes& s) {
  const uint64_t range = static_cast<uint64_t>(s.high) - static_cast<uint64_t>(s.low);
  for (int64_t i = 0; i < s.count; ++i) {
    const PhiloxBlock block = Philox(*key, static_cast<uint64_t>(i) / 2);
    y[i] = static_cast<T>(static_cast<uint64_t>(s.low) +
                          BelowRange(block, static_cast<int>(i % 2 * 2), range));
  }
}

struct PermutationSizes {
  int64_t count;
};

// Each place, from the last down, exchanges with one at or before it.
inline void Permutation(const uint64_t* key, int64_t* y, const PermutationSizes& s) {
  for (int64_t i = 0; i < s.count; ++i) y[i] = i;
  for (int64_t i = s.count - 1; i > 0; --i) {
    const PhiloxBlock block = Philox(*key, static_cast<uint64_t>(i));
    const auto j = static_cast<int64_t>(BelowRange(block, 0, static_cast<uint64_t>(i) + 1));
    const int64_t other = y[j];
    y[j] = y[i];
    y[i] = other;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

OpTraits RandomTraits() {
  OpTraits traits;
  traits.random = true;
  return traits;
}

// Whether every integer in [low, high) is one of the dtype.
bool Holds(DType dtype, int64_t low, int64_t high) {
  switch (dtype) {
    case DType::kI8:
      return low >= INT8_MIN && high - 1 <= INT8_MAX;
    case DType::kU8:
      return low >= 0 && high - 1 <= UINT8_MAX;
    case DType::kI32:
      return low >= INT32_MIN && high - 1 <= INT32_MAX;
    case DType::kU64:
      return low >= 0;
    default:
      return true;
  }
}

void InferRandint(InferContext& c) {
  if (!WantKey(c, 0)) return;
  const Op& op = c.op();
  const DType dtype = op.attr("dtype").AsDType();
  if (!IsInteger(dtype)) return (void)c.Fail("makes integers; cast the result");
  const int64_t low = op.attr("low").AsInt(), high = op.attr("high").AsInt();
  if (low >= high) {
    return (void)c.Fail(fmt::format("low must be below high, found {} and {}", low, high));
  }
  if (!Holds(dtype, low, high)) {
    return (void)c.Fail(fmt::format("{} does not hold all of [{}, {})", Name(dtype), low, high));
  }
  c.SetResult(Type::Tensor(dtype, op.attr("shape").AsDims()));
}

KernelStatus RunRandint(KernelContext& context) {
  const auto s = context.sizes<reference::RandintSizes>();
  DispatchAmong<int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      context.out().tensor.dtype,
      [&](auto zero) {
        reference::Randint(context.in(0).data<const uint64_t>(),
                           context.out().data<decltype(zero)>(), s);
      },
      "randint");
  return KernelStatus::kDone;
}

}  // namespace

void DefineRandint(OpSet& ops) {
  const auto sample = [](std::vector<NamedAttr> attrs) {
    return Sample{.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = std::move(attrs)};
  };
  ops.Define("randint")
      .Group("random")
      .Doc(
          "Random integers from low up to, but without, high; all equally likely. Element i is a "
          "function of the key and of i.")
      .Formula("low + floor(u * (high - low)), u uniform in [0, 1)")
      .In("key", "u64, such as key()")
      .RequiredAttr("shape", AttrKind::kInts)
      .WithAttr("low", AttrKind::kInt, 0)
      .RequiredAttr("high", AttrKind::kInt)
      .WithAttr("dtype", AttrKind::kDType, DType::kI64)
      .Traits(RandomTraits())
      .Infer(InferRandint)
      .Sizes("RandintSizes",
             [](const KernelQuery& query, Words& words) {
               words << query.out[0]->size() << query.op->attr("low").AsInt()
                     << query.op->attr("high").AsInt();
             })
      .Reference("Randint", RunRandint)
      .StopsGrad()
      .AddSample(sample({{"shape", Attr::Ints({2, 3})}, {"high", 10}}))
      .AddSample(sample({{"shape", Attr::Ints({33})}, {"low", -5}, {"high", -2}}))
      .AddSample(sample(
          {{"shape", Attr::Ints({33})}, {"low", -128}, {"high", 128}, {"dtype", DType::kI8}}))
      .AddSample(sample({{"shape", Attr::Ints({})}, {"high", 256}, {"dtype", DType::kU8}}))
      .AddSample(sample({{"shape", Attr::Ints({5})},
                         {"low", -(int64_t{1} << 62)},
                         {"high", int64_t{1} << 62},
                         {"dtype", DType::kI64}}))
      .AddSample(sample({{"shape", Attr::Ints({5})}, {"high", 3}, {"dtype", DType::kI32}}))
      .AddSample(sample({{"shape", Attr::Ints({5})}, {"high", 3}, {"dtype", DType::kU64}}))
      .AddSample(sample({{"shape", Attr::Ints({0, 5})}, {"high", 3}}));
}

void DefinePermutation(OpSet& ops) {
  const auto sample = [](int64_t n) {
    return Sample{.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"n", n}}};
  };
  ops.Define("permutation")
      .Group("random")
      .Doc(
          "The integers from 0 to n - 1 in random order, all orders equally likely; rows of x are "
          "shuffled by gather(x, permutation(key(), B)).")
      .Formula("a random order of 0 … n - 1")
      .In("key", "u64, such as key()")
      .RequiredAttr("n", AttrKind::kInt, "how many")
      .Traits(RandomTraits())
      .Infer([](InferContext& c) {
        if (WantKey(c, 0)) c.SetResult(Type::Tensor(DType::kI64, {c.op().attr("n").AsDim()}));
      })
      .Sizes("PermutationSizes",
             [](const KernelQuery& query, Words& words) { words << query.out[0]->size(); })
      .Reference("Permutation",
                 [](KernelContext& context) {
                   reference::Permutation(context.in(0).data<const uint64_t>(),
                                          context.out().data<int64_t>(), {context.out().size()});
                   return KernelStatus::kDone;
                 })
      .StopsGrad()
      .AddSample(sample(6))
      .AddSample(sample(1000))
      .AddSample(sample(1))
      .AddSample(sample(0));
}

}  // namespace catamaran

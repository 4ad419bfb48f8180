// ops/random/split_key.cc
//
// split_key(key, n): n keys from one.

#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct SplitKeySizes {
  int64_t count;
};

// The high counter keeps these bits apart from those that random ops draw from the same key.
inline void SplitKey(const uint64_t* key, uint64_t* y, const SplitKeySizes& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    const PhiloxBlock block = Philox(*key, static_cast<uint64_t>(i), 0x73706C69746B6579u);
    y[i] = static_cast<uint64_t>(block.words[0]) << 32 | block.words[1];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

void DefineSplitKey(OpSet& ops) {
  OpTraits traits;
  traits.random = true;
  ops.Define("split_key")
      .Group("random")
      .Doc("n keys made from one; they are independent of it and of each other.")
      .Formula("hash(key, i)")
      .In("key", "u64, such as key()")
      .RequiredAttr("n", AttrKind::kInt, "how many")
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (WantKey(c, 0)) c.SetResult(Type::Tensor(DType::kU64, {c.op().attr("n").AsDim()}));
      })
      .Sizes("SplitKeySizes",
             [](const KernelQuery& query, Words& words) { words << query.out[0]->size(); })
      .Reference("SplitKey",
                 [](KernelContext& context) {
                   reference::SplitKey(context.in(0).data<const uint64_t>(),
                                       context.out().data<uint64_t>(), {context.out().size()});
                   return KernelStatus::kDone;
                 })
      .StopsGrad()
      .AddSample({.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"n", 5}}})
      .AddSample({.inputs = {Ints({}, {7}, DType::kU64)}, .attrs = {{"n", 0}}});
}

}  // namespace catamaran

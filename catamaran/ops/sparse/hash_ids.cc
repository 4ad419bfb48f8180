// ops/sparse/hash_ids.cc
//
// hash_ids(ids) and hash_cross(columns…): ids scrambled, and several columns of ids as one. The
// hashes are the same in every build and on every machine; programs and tables may keep them.

#include "catamaran/ops/sparse/bags.h"

// reference-begin
namespace catamaran::reference {

// buckets 0: all 64 bits.
struct HashIdsSizes {
  int64_t count, salt, buckets;
};

// A one-to-one scramble of 64 bits.
inline uint64_t HashMix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The hash of what had the hash `hash` and goes on with `value`; the order counts.
inline uint64_t HashNext(uint64_t hash, uint64_t value) {
  return HashMix(hash * 0xd6e8feb86659fd93u + value);
}

// i32 and i64 are taken with their sign, so that equal numbers of any dtype have equal hashes.
template <class I>
void HashIds(const I* ids, uint64_t* y, const HashIdsSizes& s) {
  const uint64_t start = HashMix(static_cast<uint64_t>(s.salt));
  const uint64_t buckets = static_cast<uint64_t>(s.buckets);
  for (int64_t k = 0; k < s.count; ++k) {
    const uint64_t hash = HashNext(start, static_cast<uint64_t>(ids[k]));
    y[k] = buckets == 0 ? hash : hash % buckets;
  }
}

// One column more: y holds the hashes of those before it.
template <class I>
void HashColumn(const I* ids, uint64_t* y, const HashIdsSizes& s) {
  for (int64_t k = 0; k < s.count; ++k) y[k] = HashNext(y[k], static_cast<uint64_t>(ids[k]));
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::HashIdsSizes;

// Columns are hashed one after another over pieces that stay in the cache.
constexpr int64_t kPiece = 1024;

void HashPiece(const KernelContext& c, int64_t begin, int64_t end) {
  const HashIdsSizes& s = c.sizes<HashIdsSizes>();
  uint64_t* y = c.out().data<uint64_t>() + begin;
  const bool one = c.num_ins == 1;
  for (int i = 0; i < c.num_ins; ++i) {
    DispatchIndex(
        c.in(i).tensor.dtype,
        [&]<class I>(I) {
          const I* ids = c.in(i).data<const I>() + begin;
          if (i == 0) {
            reference::HashIds(ids, y, {end - begin, s.salt, one ? s.buckets : 0});
          } else {
            reference::HashColumn(ids, y, {end - begin, 0, 0});
          }
        },
        "hash");
  }
  if (one || s.buckets == 0) return;
  for (int64_t k = 0; k < end - begin; ++k) y[k] %= static_cast<uint64_t>(s.buckets);
}

KernelStatus RunHash(KernelContext& c) {
  Split(c.pool, c.out().size(), 8 * c.num_ins, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kPiece) HashPiece(c, at, std::min(at + kPiece, end));
  });
  return KernelStatus::kDone;
}

void InferHash(InferContext& c) {
  if (c.num_operands() == 0) return (void)c.Fail("wants at least one column of ids");
  for (int i = 0; i < c.num_operands(); ++i) {
    if (!WantIds(c, i)) return;
    if (!c.UnifyTypes(c.type(0).WithDType(DType::kU64), c.type(i).WithDType(DType::kU64),
                      "columns")) {
      return;
    }
  }
  const Attr& buckets = c.op().attr("buckets");
  if (!buckets.empty() && buckets.AsInt() <= 0) {
    return (void)c.Fail("buckets is at least 1, found " + buckets.ToString());
  }
  c.SetResult(c.type(0).WithDType(DType::kU64));
}

OpBuilder& AddHash(OpBuilder& op) {
  return op.Group("sparse")
      .WithAttr("salt", AttrKind::kInt, 0, "another salt, another hash: one for each feature")
      .OptionalAttr("buckets", AttrKind::kInt, "the result is the hash modulo this; none: 64 bits")
      .Traits(RowwiseTraits())
      .Infer(InferHash)
      .Sizes("HashIdsSizes",
             [](const KernelQuery& q, Words& words) {
               const Attr& buckets = q.op->attr("buckets");
               words << q.out[0]->size() << q.op->attr("salt").AsInt()
                     << (buckets.empty() ? int64_t{0} : buckets.AsInt());
             })
      .StopsGrad();
}

}  // namespace

void DefineHashIds(OpSet& ops) {
  OpBuilder op = ops.Define("hash_ids");
  op.In("ids", "i32, i64 or u64");
  AddHash(op)
      .Doc(
          "A 64-bit hash of each id, or a bucket of it. The same in every build and on every "
          "machine; without buckets no two ids of one salt have the same hash. Equal numbers have "
          "equal hashes whatever their dtype. With next(h, v) = mix(h * 0xd6e8feb86659fd93 + v) "
          "and mix the finaliser of splitmix64 it is next(mix(salt), id).")
      .Formula("y = next(mix(salt), id) mod buckets")
      .Reference("HashIds", RunHash)
      .AddSample({.inputs = {Ints({4}, {0, 1, 2, -1})}, .attrs = {{"buckets", 100}}})
      .AddSample({.inputs = {RandomInts({3, 5}, 0, 1000)}, .attrs = {{"salt", 7}}})
      .AddSample({.inputs = {RandomInts({5}, -9, 9, DType::kI32)},
                  .attrs = {{"buckets", 10}},
                  .ragged_lengths = {{2, 3}}})
      .AddSample({.inputs = {RandomInts({2000}, 0, 1000, DType::kU64)}, .attrs = {{"salt", -3}}})
      .AddSample({.inputs = {Empty({0, 2}, DType::kI64)}});
}

void DefineHashCross(OpSet& ops) {
  OpBuilder op = ops.Define("hash_cross");
  op.VariadicIn("columns", "i32, i64 or u64, of one shape");
  AddHash(op)
      .Doc(
          "A 64-bit hash of several columns of ids together, or a bucket of it: a crossed feature. "
          "The order of the columns counts; one column gives what hash_ids gives.")
      .Formula("y = next(next(mix(salt), a), b) … mod buckets, with next and mix of hash_ids")
      .Reference("", RunHash)
      .AddSample(
          {.inputs = {Ints({3}, {0, 1, 2}), Ints({3}, {7, 7, 8})}, .attrs = {{"buckets", 1000}}})
      .AddSample({.inputs = {RandomInts({2, 3}, 0, 9), RandomInts({2, 3}, 0, 9, DType::kI32, 2),
                             RandomInts({2, 3}, 0, 9, DType::kU64, 3)},
                  .attrs = {{"salt", 5}}})
      .AddSample({.inputs = {RandomInts({3000}, 0, 9), RandomInts({3000}, 0, 9, DType::kI64, 2)},
                  .attrs = {{"buckets", 77}}})
      .AddSample({.inputs = {RandomInts({5}, 0, 9), RandomInts({5}, 0, 9, DType::kI64, 2)},
                  .ragged_lengths = {{2, 3}, {2, 3}}})
      .AddSample({.inputs = {Empty({0}, DType::kI64)}});
}

}  // namespace catamaran

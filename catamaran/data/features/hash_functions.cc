// Ids by hashing. Which id a text gets is frozen: tables that were trained depend on it.

#include <fmt/format.h>

#include "catamaran/base/hash.h"
#include "catamaran/data/features/canonical_text.h"
#include "catamaran/data/features/standard_functions.h"

namespace catamaran {
namespace {

constexpr uint64_t kMaxCombinations = 1 << 20;  // of one row
constexpr int64_t kMaxBuckets = int64_t{1} << 53;

// What a hash becomes: all of its bits, or its rest by the number of buckets.
struct Reduce {
  uint64_t buckets = 0;

  int64_t operator()(uint64_t hash) const {
    return static_cast<int64_t>(buckets == 0 ? hash : hash % buckets);
  }
};

Reduce BucketsOf(FeatureCall& call) {
  return {static_cast<uint64_t>(call.Integer("buckets", 0, 1, kMaxBuckets))};
}

// A copy of the lists' ends.
void CopyOffsets(const FeatureValues& from, FeatureValues& out) {
  out.offsets.clear();
  out.offsets.Append(from.offsets.span());
}

FeatureKernel BindHash(FeatureCall& call) {
  call.NeedValues(1);
  const ValueType from = call.type(0);
  const uint64_t seed = HashString(call.Text("salt", call.field()));
  const Reduce reduce = BucketsOf(call);
  constexpr std::string_view kMissing[] = {"id", "none"};
  const bool skip = call.OneOf("missing", kMissing) == "none";
  const auto id = [=](std::string_view text) { return reduce(HashString(text, seed)); };
  if (skip && !from.is_list()) {
    if (!from.is_single()) call.Fail("missing=none wants single values");
    return {{ValueKind::kIds, {}}, [=](const FeatureArgs& args, FeatureValues& out) {
              ForEachText(from, args[0], [&](std::string_view text) {
                if (!text.empty()) out.ints.push_back(id(text));
                out.EndList();
              });
            }};
  }
  if (from.is_list()) {
    const bool weighted = from.kind == ValueKind::kWeightedIds;
    return {{weighted ? ValueKind::kWeightedIds : ValueKind::kIds, {}},
            [=](const FeatureArgs& args, FeatureValues& out) {
              CopyOffsets(args[0], out);
              if (weighted) out.weights.Append(args[0].weights.span());
              ForEachText(from, args[0],
                          [&](std::string_view text) { out.ints.push_back(id(text)); });
            }};
  }
  return {{ValueKind::kInteger, from.shape}, [=](const FeatureArgs& args, FeatureValues& out) {
            int64_t* to = out.ints.Extend(static_cast<size_t>(args.rows * from.elements()));
            ForEachText(from, args[0], [&](std::string_view text) { *to++ = id(text); });
          }};
}

// The hashes of each element, with the row's list of each value.
struct Crossed {
  Buffer<uint64_t> hashes;
  const int32_t* offsets = nullptr;  // null: one a row

  size_t begin(int64_t row) const {
    return static_cast<size_t>(offsets == nullptr ? row : offsets[row]);
  }
};

FeatureKernel BindCross(FeatureCall& call) {
  constexpr size_t kMost = 8;
  call.NeedValues(2, kMost);
  std::vector<ValueType> types;
  bool lists = false;
  for (size_t i = 0; i < call.values(); ++i) {
    types.push_back(call.type(i));
    if (!types[i].is_list() && !types[i].is_single()) {
      call.Fail(
          fmt::format("value {} is {}, wanted a single one or a list", i + 1, types[i].ToString()));
    }
    lists = lists || types[i].is_list();
  }
  const uint64_t seed = HashString(call.Text("salt", call.field()));
  const Reduce reduce = BucketsOf(call);
  return {{lists ? ValueKind::kIds : ValueKind::kInteger, {}},
          [=](const FeatureArgs& args, FeatureValues& out) {
            Crossed parts[kMost];
            for (size_t i = 0; i < types.size(); ++i) {
              if (types[i].is_list()) parts[i].offsets = args[i].offsets.data();
              ForEachText(types[i], args[i], [&](std::string_view text) {
                parts[i].hashes.push_back(HashString(text));
              });
            }
            // Every combination of the row's elements, the last value's fastest.
            const auto combine = [&](auto&& self, size_t i, int64_t row, uint64_t hash) -> void {
              if (i == types.size()) {
                out.ints.push_back(reduce(hash));
                return;
              }
              for (size_t e = parts[i].begin(row); e < parts[i].begin(row + 1); ++e) {
                self(self, i + 1, row, HashCombine(hash, parts[i].hashes[e]));
              }
            };
            for (int64_t row = 0; row < args.rows; ++row) {
              uint64_t count = 1;
              for (size_t i = 0; i < types.size(); ++i) {
                count *= parts[i].begin(row + 1) - parts[i].begin(row);
                if (count > kMaxCombinations) {
                  args.FailRow(row, fmt::format("the lists have more than {} combinations",
                                                kMaxCombinations));
                }
              }
              combine(combine, 0, row, seed);
              if (lists) out.EndList();
            }
          }};
}

}  // namespace

void AddHashFunctions(FeatureFunctionSet& functions) {
  functions.Add({.name = "hash",
                 .usage = "hash(x, salt=field, buckets=…, missing=id or none)",
                 .about = "a 64-bit id of each value's text, salted with its column or expression; "
                          "a missing value has an id too, or none",
                 .bind = BindHash});
  functions.Add({.name = "cross",
                 .usage = "cross(a, b, …, salt=fields, buckets=…)",
                 .about = "one id for the values together; of lists, one for each combination",
                 .bind = BindCross});
}

}  // namespace catamaran

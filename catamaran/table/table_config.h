// table/table_config.h
//
// Everything a table is told when it is made, as plain data. Whoever reads a program's
// declarations fills it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/base/hash.h"
#include "catamaran/table/optimizers.h"

namespace catamaran {

// What the embedding of a new row is: a function of the table's seed and the key.
struct TableInit {
  enum class Kind : uint8_t { kZeros, kConstant, kUniform, kNormal } kind = Kind::kZeros;
  double a = 0;  // constant: the value; uniform: low; normal: the standard deviation
  double b = 0;  // uniform: high (not reached)
};

// How the numbers of an embedding are kept. Optimizer slots are always f32, and so is what a
// program sees.
enum class RowStore : uint8_t {
  kF32,
  kBf16,  // rounded at random, up or down, so that small updates count on average
  kInt8,  // the same, with one f32 scale a row: the largest number of the row is 127
};

// Which keys get a row.
struct TableAdmit {
  enum class Kind : uint8_t {
    kNone,         // every one
    kCount,        // from its count-th occurrence on; counted exactly
    kProbability,  // a fair draw in each step that it occurs in
    kSketch,       // as kCount, counted roughly, in a fixed number of bytes
  } kind = Kind::kNone;
  int64_t count = 1;
  double probability = 1;
  int64_t time_to_live = 0;  // kCount: a key unseen for longer is forgotten; 0: never
  int64_t sketch_bytes = 0;  // kSketch: in all, for ever
  int64_t window = 0;        // kSketch: what is older than one to two of these is forgotten
};

// What a key without a row reads as.
enum class Unadmitted : uint8_t {
  kInit,  // what its row would begin as
  kZeros,
  kShared,  // one row for all of them, trained by their gradients
};

// How good a row is: show_weight * (shows - clicks) + click_weight * clicks. Shows and clicks
// halve every half_life of event time.
struct TableScore {
  double show_weight = 1;
  double click_weight = 1;
  int64_t half_life = 0;  // nanoseconds; 0: they do not fade
};

// Which rows go. Any of these; a row goes when one of them says so.
struct TableExpire {
  int64_t unseen = 0;               // nanoseconds of event time since it was seen; 0: never
  std::optional<double> min_score;  // rows below it
  int64_t max_bytes = 0;            // the worst, until the rest fits (AccountedBytes); 0: no limit

  bool any() const { return unseen > 0 || min_score.has_value() || max_bytes > 0; }
};

inline constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
inline constexpr int64_t kNanosecondsPerDay = 86'400 * kNanosecondsPerSecond;
inline constexpr int64_t kMaxTableWidth = 1024;
inline constexpr int kMaxTableFeatures = 255;

// Keys fall into this many logical buckets by the top bits of their hash. All that a table decides
// for several keys together (sketches, slices of expiry) it decides by bucket or by hash, so that
// no result depends on how many shards hold the buckets.
inline constexpr int kTableBucketBits = 10;
inline constexpr int64_t kTableBuckets = int64_t{1} << kTableBucketBits;

struct TableConfig {
  int64_t width = 0;
  RowStore store = RowStore::kF32;
  TableInit init;
  std::optional<Optimizer> optimizer;  // none: the table takes no gradients
  TableAdmit admit;
  Unadmitted unadmitted = Unadmitted::kInit;
  TableScore score;
  TableExpire expire;
  // A new row has one column, and gets the others when its score reaches this. Columns that a row
  // does not have read as zeros.
  std::optional<double> grow_at;
  // Names of the features that share the table; feature i of a row is features[i - 1], 0 is none.
  std::vector<std::string> features;
  uint64_t seed = 0;

  // The place of a key: one to one, so no two keys share it.
  uint64_t Hash(uint64_t key) const { return Mix64(key ^ Mix64(seed)); }
};

inline int64_t BucketOf(uint64_t hash) {
  return static_cast<int64_t>(hash >> (64 - kTableBucketBits));
}

// What keeps equal ids of different features apart: a function of the feature's name alone, the
// same in every build. 0, which changes nothing, for the empty name.
uint64_t FeatureSalt(std::string_view feature);
// The key of `id` under a salt: one to one.
constexpr uint64_t SaltedKey(uint64_t id, uint64_t salt) {
  return salt == 0 ? id : Mix64(id ^ salt);
}
// The id that has the key.
constexpr uint64_t UnsaltedKey(uint64_t key, uint64_t salt) {
  return salt == 0 ? key : Unmix64(key) ^ salt;
}

// An Error that says what was wrong if a table cannot be made from it.
void CheckTableConfig(const TableConfig& config);

// Writes the `config.width` numbers that the row of `key` begins as, before they are rounded for
// storing.
void FillInitialRow(const TableConfig& config, uint64_t key, float* row);
// The same for the shared row, which belongs to no key and is kept in f32.
void FillSharedRow(const TableConfig& config, float* row);

// Whether a draw in this step admits `key`. REQUIRES: the policy is kProbability.
bool DrawAdmits(const TableConfig& config, uint64_t key, int64_t step);

}  // namespace catamaran

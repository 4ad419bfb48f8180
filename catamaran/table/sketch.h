// table/sketch.h
//
// Counts keys roughly, in a fixed number of bytes, for admission: a key that has occurred `count`
// times lately is let in, and rarely one that has not. Each logical bucket has a sketch of its own,
// so that what it answers depends on the keys of that bucket alone, whatever shard holds it.
//
// A bucket has two generations of small counters; a key has four counters in one cache line of
// each. Only the smallest of the four are raised (a conservative sketch). What a key counts is what
// both generations say. The older one is forgotten when the newer one is a window old, by event
// time, or has counted an eighth as many occurrences as it has counters (a sixteenth if `count` is
// below 3). So it never fills up, however many keys pass by: about 1 in 1,000 new keys is let in at
// once for counts of 3 and more, about 1 in 100 for a count of 2. Counters have 4 bits for counts
// up to 15 (then 8, then 16), so 64 MB remember the last 8 to 16 million occurrences of keys that
// have no row.
//
// Thread safety: different threads may use different buckets at the same time.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/table/table_config.h"

namespace catamaran {

class TableSketch {
 public:
  // For one line in each generation of each bucket.
  static constexpr int64_t kMinBytes = 2 * 64 * kTableBuckets;
  static constexpr int64_t kMaxCount = 65'535;

  // REQUIRES: CheckTableConfig(config), and the admission is kSketch.
  explicit TableSketch(const TableConfig& config);

  // Adds occurrences of the key with this hash (TableConfig::Hash). Returns how often it has
  // occurred lately, these included: never too few within the last window and generation, rarely
  // too many, and nothing above config.admit.count is told apart.
  // REQUIRES: occurrences > 0.
  int64_t Add(uint64_t hash, int64_t occurrences, int64_t event_time);

  int64_t bytes() const;
  // All of it, with its counters as they are.
  std::string Save() const;
  void Load(std::string_view bytes);

 private:
  struct Bucket {
    int64_t window = 0;    // event time / window, of the newer generation
    uint32_t counted = 0;  // by the newer generation
    uint32_t newer = 0;    // which one it is: 0 or 1
  };
  uint8_t* Generation(size_t bucket, uint32_t which) {
    return counters_.data() + (bucket * 2 + which) * generation_bytes_;
  }
  // Forgets what is too old before something is counted.
  void Age(size_t bucket, int64_t event_time);
  void Rotate(size_t bucket);

  int counter_bits_ = 4;
  int64_t count_;   // that admits
  int64_t window_;  // nanoseconds; 0: none
  size_t generation_bytes_;
  uint32_t limit_;  // of Bucket::counted
  std::vector<Bucket> buckets_;
  std::vector<uint8_t> counters_;
};

}  // namespace catamaran

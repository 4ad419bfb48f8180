// stream/idempotency.h
//
// The keys of requests that were taken, so that a retry is known as one. A key is remembered for a
// stated time by the clock of the log, and no more than a stated number are, the oldest going
// first: what is remembered is a function of the log. Keys are kept as 128-bit hashes, 24 bytes and
// a place in an index each.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_set>

namespace catamaran {

namespace stream::v1 {
class KeyState;
}

class IdempotencyKeys {
 public:
  IdempotencyKeys(int64_t horizon_ns, uint64_t max_keys)
      : horizon_ns_(horizon_ns), max_keys_(max_keys) {}

  // From now on; keys that are too old by that go at once.
  void SetLimits(int64_t horizon_ns, uint64_t max_keys);

  // True if it is new; then it is remembered. `now` is the log's clock. An empty key is always new.
  bool Take(std::string_view key, int64_t now);

  // Forgets what is older than the horizon.
  void AdvanceTo(int64_t now);

  size_t size() const { return order_.size(); }

  void Save(stream::v1::KeyState& state) const;
  // An Error if the state is damaged.
  void Load(const stream::v1::KeyState& state);

 private:
  struct Hash {
    uint64_t first = 0, second = 0;
    friend bool operator==(const Hash&, const Hash&) = default;
  };
  struct HashOfHash {
    size_t operator()(const Hash& hash) const { return hash.first; }
  };
  struct Seen {
    Hash hash;
    int64_t time_ns = 0;
  };
  void DropOldest();

  int64_t horizon_ns_;
  uint64_t max_keys_;
  std::deque<Seen> order_;  // oldest first
  std::unordered_set<Hash, HashOfHash> keys_;
};

}  // namespace catamaran

// stream/idempotency.h
//
// The keys of requests that were taken, so that a retry is known as one. A key is remembered for a
// stated time by the clock of the log, and no more than a stated number are, the oldest going
// first: what is remembered is a function of the log. Keys are kept as 128-bit hashes: 24 bytes and
// 8 to 16 of an index each.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

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
  // Memory.
  uint64_t bytes() const { return order_.size() * sizeof(Seen) + places_.size() * sizeof(Place); }

  void Save(stream::v1::KeyState& state) const;
  // An Error if the state is damaged.
  void Load(const stream::v1::KeyState& state);

 private:
  struct Hash {
    uint64_t first = 0, second = 0;
    friend bool operator==(const Hash&, const Hash&) = default;
  };
  struct Seen {
    Hash hash;
    int64_t time_ns = 0;
  };
  // The low bits of a key's number: the first key has 0, the next 1. There are never so many that
  // two have the same.
  using Place = uint32_t;
  static constexpr Place kFree = UINT32_MAX;

  const Seen& SeenAt(Place place) const { return order_[static_cast<Place>(place - oldest_)]; }
  size_t HomeOf(const Hash& hash) const { return hash.first & (places_.size() - 1); }
  // Where the key stands in the index, or the free place where it would.
  size_t Find(const Hash& hash) const;
  void Remember(const Hash& hash, int64_t now);
  void MakeIndex(size_t places);
  void DropOldest();

  int64_t horizon_ns_;
  uint64_t max_keys_;
  std::deque<Seen> order_;     // oldest first
  Place oldest_ = 0;           // number of the first
  std::vector<Place> places_;  // by hash, then one after another; a power of two, half of them free
};

}  // namespace catamaran

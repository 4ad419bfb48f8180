// stream/idempotency.cc

#include "catamaran/stream/idempotency.h"

#include <algorithm>

#include "catamaran/base/hash.h"
#include "catamaran/stream/record_proto.h"

namespace catamaran {
namespace {

constexpr size_t kLeastPlaces = 16;
// A number in 32 bits must name one key.
constexpr uint64_t kMostKeys = uint64_t{1} << 31;

}  // namespace

void IdempotencyKeys::SetLimits(int64_t horizon_ns, uint64_t max_keys) {
  horizon_ns_ = horizon_ns;
  max_keys_ = std::min(max_keys, kMostKeys);
  while (order_.size() > max_keys_) DropOldest();
}

size_t IdempotencyKeys::Find(const Hash& hash) const {
  size_t at = HomeOf(hash);
  while (places_[at] != kFree && !(SeenAt(places_[at]).hash == hash)) {
    at = (at + 1) & (places_.size() - 1);
  }
  return at;
}

void IdempotencyKeys::MakeIndex(size_t places) {
  places_.assign(places, kFree);
  places_.shrink_to_fit();
  for (size_t i = 0; i < order_.size(); ++i) {
    places_[Find(order_[i].hash)] = static_cast<Place>(oldest_ + i);
  }
}

// REQUIRES: it is not there.
void IdempotencyKeys::Remember(const Hash& hash, int64_t now) {
  if ((order_.size() + 1) * 2 > places_.size()) {
    MakeIndex(std::max(kLeastPlaces, places_.size() * 2));
  }
  Place number = static_cast<Place>(oldest_ + order_.size());
  if (number == kFree) {  // no key has it: all get other numbers
    oldest_ = 0;
    number = static_cast<Place>(order_.size());
    MakeIndex(places_.size());
  }
  places_[Find(hash)] = number;
  order_.push_back({hash, now});
}

void IdempotencyKeys::DropOldest() {
  const size_t mask = places_.size() - 1;
  size_t free = Find(order_.front().hash);
  // Those behind it that would not be found across a gap move up.
  for (size_t at = (free + 1) & mask; places_[at] != kFree; at = (at + 1) & mask) {
    const size_t home = HomeOf(SeenAt(places_[at]).hash);
    if (((at - home) & mask) < ((at - free) & mask)) continue;
    places_[free] = places_[at];
    free = at;
  }
  places_[free] = kFree;
  order_.pop_front();
  ++oldest_;
  if (places_.size() > kLeastPlaces && order_.size() * 8 < places_.size()) {
    MakeIndex(places_.size() / 2);
  }
}

void IdempotencyKeys::AdvanceTo(int64_t now) {
  while (!order_.empty() && order_.front().time_ns < now - horizon_ns_) DropOldest();
}

bool IdempotencyKeys::Take(std::string_view key, int64_t now) {
  if (key.empty() || max_keys_ == 0) return true;
  AdvanceTo(now);
  // Who chooses keys to collide hurts only the examples that they send themselves.
  const Hash hash{HashString(key, 0x6b65797331), HashString(key, 0x6b65797332)};
  if (!places_.empty() && places_[Find(hash)] != kFree) return false;
  Remember(hash, now);
  while (order_.size() > max_keys_) DropOldest();
  return true;
}

void IdempotencyKeys::Save(stream::v1::KeyState& state) const {
  for (const Seen& seen : order_) {
    state.add_first(seen.hash.first);
    state.add_second(seen.hash.second);
    state.add_time_ns(seen.time_ns);
  }
}

void IdempotencyKeys::Load(const stream::v1::KeyState& state) {
  if (state.second_size() != state.first_size() || state.time_ns_size() != state.first_size()) {
    Fail(ErrorCode::kStorage,
         "idempotency keys: damaged: {}, {} and {} values that belong together", state.first_size(),
         state.second_size(), state.time_ns_size());
  }
  order_.clear();
  places_.clear();
  oldest_ = 0;
  for (int i = 0; i < state.first_size(); ++i) {
    const Hash hash{state.first(i), state.second(i)};
    if (!places_.empty() && places_[Find(hash)] != kFree) {
      Fail("idempotency keys: damaged: one stands there twice");
    }
    Remember(hash, state.time_ns(i));
  }
}

}  // namespace catamaran

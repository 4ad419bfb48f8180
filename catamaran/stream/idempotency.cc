// stream/idempotency.cc

#include "catamaran/stream/idempotency.h"

#include "catamaran/base/hash.h"
#include "catamaran/stream/record_proto.h"

namespace catamaran {

void IdempotencyKeys::SetLimits(int64_t horizon_ns, uint64_t max_keys) {
  horizon_ns_ = horizon_ns;
  max_keys_ = max_keys;
  while (order_.size() > max_keys_) DropOldest();
}

void IdempotencyKeys::DropOldest() {
  keys_.erase(order_.front().hash);
  order_.pop_front();
}

void IdempotencyKeys::AdvanceTo(int64_t now) {
  while (!order_.empty() && order_.front().time_ns < now - horizon_ns_) DropOldest();
}

bool IdempotencyKeys::Take(std::string_view key, int64_t now) {
  if (key.empty() || max_keys_ == 0) return true;
  AdvanceTo(now);
  // Who chooses keys to collide hurts only the examples that they send themselves.
  const Hash hash{HashString(key, 0x6b65797331), HashString(key, 0x6b65797332)};
  if (!keys_.insert(hash).second) return false;
  order_.push_back({hash, now});
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
  keys_.clear();
  for (int i = 0; i < state.first_size(); ++i) {
    const Hash hash{state.first(i), state.second(i)};
    order_.push_back({hash, state.time_ns(i)});
    keys_.insert(hash);
  }
}

}  // namespace catamaran

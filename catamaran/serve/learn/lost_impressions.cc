// serve/learn/lost_impressions.cc

#include "catamaran/serve/learn/lost_impressions.h"

#include "catamaran/base/hash.h"

namespace catamaran {

void LostImpressions::Add(std::string_view id) {
  ++impressions_;
  if (id.empty()) return;
  const uint64_t hash = HashString(id);
  const std::lock_guard lock(mutex_);
  if (!ids_.insert(hash).second) return;
  order_.push_back(hash);
  if (order_.size() > kMost) {
    ids_.erase(order_.front());
    order_.pop_front();
  }
  any_ = true;
}

void LostImpressions::Remove(std::string_view id) {
  if (!any_) return;
  const std::lock_guard lock(mutex_);
  ids_.erase(HashString(id));
  if (!ids_.empty()) return;
  order_.clear();
  any_ = false;
}

bool LostImpressions::Contains(std::string_view id) const {
  if (!any_) return false;
  const std::lock_guard lock(mutex_);
  return ids_.contains(HashString(id));
}

}  // namespace catamaran

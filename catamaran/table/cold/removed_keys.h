// table/cold/removed_keys.h
//
// Places whose records are gone from the table but may still lie in the store, because the store
// must not change while a checkpoint of it is made. Whoever reads the store asks here first.
//
// The order that makes this safe: a place is added before its row goes from memory, and is cleared
// after its record has gone from the store. A reader looks in memory, then here, then in the
// store, so one that finds neither row nor place finds no record either.
//
// Thread safety: one thread changes it, any number ask.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <vector>

namespace catamaran {

class RemovedKeys {
 public:
  void Add(uint64_t hash) {
    std::unique_lock lock(mutex_);
    places_.insert(hash);
    empty_.store(false, std::memory_order_release);
  }

  // Takes those out of `hashes` that are removed.
  void Filter(std::vector<uint64_t>& hashes) const {
    if (empty()) return;
    std::shared_lock lock(mutex_);
    std::erase_if(hashes, [&](uint64_t hash) { return places_.contains(hash); });
  }
  bool Contains(uint64_t hash) const {
    if (empty()) return false;
    std::shared_lock lock(mutex_);
    return places_.contains(hash);
  }

  bool empty() const { return empty_.load(std::memory_order_acquire); }

  // The thread that changes it may look at all.
  const std::unordered_set<uint64_t>& places() const { return places_; }
  void Clear() {
    std::unique_lock lock(mutex_);
    places_.clear();
    empty_.store(true, std::memory_order_release);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_set<uint64_t> places_;
  std::atomic<bool> empty_ = true;
};

}  // namespace catamaran

#include "catamaran/table/cold/row_cache.h"

#include <algorithm>

namespace catamaran {

RowCache::RowCache(const RowLayout& layout, int64_t bytes)
    : layout_(layout),
      record_words_(layout.max_words()),
      record_bytes_(static_cast<int64_t>(record_words_ * sizeof(uint32_t) + sizeof(Set) / kWays)),
      num_sets_(static_cast<size_t>(
          std::max<int64_t>(1, bytes / (record_bytes_ * static_cast<int64_t>(kWays))))),
      sets_(std::make_unique<Set[]>(num_sets_)),
      words_(std::make_unique_for_overwrite<uint32_t[]>(num_sets_ * kWays * record_words_)) {
  for (size_t i = 0; i < num_sets_; ++i) sets_[i].classes.fill(kEmpty);
}

size_t RowCache::WayOf(const Set& set, uint64_t hash) {
  size_t way = 0;
  while (way < kWays && (set.classes[way] == kEmpty || set.hashes[way] != hash)) ++way;
  return way;
}

bool RowCache::Find(uint64_t hash, RowClass* c, uint32_t* record) const {
  const size_t at = SetOf(hash);
  const std::lock_guard lock(LockOf(at));
  const Set& set = sets_[at];
  const size_t way = WayOf(set, hash);
  if (way == kWays) return false;
  set.asked[way] = true;
  *c = RowClass{set.classes[way]};
  std::copy_n(RecordAt(at, way), layout_.of(*c).words, record);
  return true;
}

RowCache::Ticket RowCache::Take(uint64_t hash) const {
  const size_t at = SetOf(hash);
  const std::lock_guard lock(LockOf(at));
  return sets_[at].ticket;
}

void RowCache::Insert(uint64_t hash, RowClass c, const uint32_t* record, Ticket ticket) {
  const size_t at = SetOf(hash);
  const std::lock_guard lock(LockOf(at));
  Set& set = sets_[at];
  if (set.ticket != ticket || WayOf(set, hash) != kWays) return;
  // Each is passed over at most once.
  while (set.classes[set.hand] != kEmpty && set.asked[set.hand]) {
    set.asked[set.hand] = false;
    set.hand = static_cast<uint8_t>((set.hand + 1) % kWays);
  }
  const size_t way = set.hand;
  set.hand = static_cast<uint8_t>((set.hand + 1) % kWays);
  if (set.classes[way] == kEmpty) records_.fetch_add(1, std::memory_order_relaxed);
  set.classes[way] = static_cast<uint8_t>(c);
  set.asked[way] = false;
  set.hashes[way] = hash;
  std::copy_n(record, layout_.of(c).words, RecordAt(at, way));
}

void RowCache::Forget(uint64_t hash) {
  const size_t at = SetOf(hash);
  const std::lock_guard lock(LockOf(at));
  Set& set = sets_[at];
  ++set.ticket;
  const size_t way = WayOf(set, hash);
  if (way == kWays) return;
  set.classes[way] = kEmpty;
  records_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace catamaran

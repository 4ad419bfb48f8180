#include "catamaran/table/cold/hot_rows.h"

#include <array>

namespace catamaran {

void HotRows::Find(std::span<const uint64_t> keys,
                   FunctionRef<void(size_t i, RowClass c, const uint32_t* record)> visit) const {
  // Three stages, some keys apart, so that many cache misses are under way at once.
  constexpr size_t kAhead = 16;
  std::array<RowHandle, 2 * kAhead> guesses;
  const TableConfig& config = store_.config();
  for (size_t i = 0; i < keys.size() + 2 * kAhead; ++i) {
    if (i < keys.size()) {
      const uint64_t hash = config.Hash(keys[i]);
      store_.shard_for(hash).PrefetchIndex(hash);
    }
    if (const size_t k = i - kAhead; k < keys.size()) {
      const uint64_t hash = config.Hash(keys[k]);
      guesses[k % guesses.size()] = store_.shard_for(hash).PrefetchRow(hash);
    }
    if (const size_t k = i - 2 * kAhead; k < keys.size()) {
      const uint64_t hash = config.Hash(keys[k]);
      const Shard& shard = store_.shard_for(hash);
      const RowHandle handle = shard.Find(hash, keys[k], guesses[k % guesses.size()]);
      if (handle) {
        visit(k, handle.row_class(), shard.row(handle));
        continue;
      }
      RowClass c = RowClass::kFull;
      const RowBacking* beneath = writer_.attached().Beneath(hash);
      const uint32_t* record = beneath == nullptr ? nullptr : beneath->Find(keys[k], &c);
      visit(k, c, record);
    }
  }
}

bool HotRows::Contains(uint64_t key) const {
  bool found = false;
  Find({&key, 1}, [&](size_t, RowClass, const uint32_t* record) { found = record != nullptr; });
  return found;
}

void HotRows::Walk(uint64_t first, uint64_t last,
                   FunctionRef<void(RowClass c, const uint32_t* record)> visit) {
  writer_.MoveRange(first, last);
  for (int64_t s = store_.ShardOf(first); s <= store_.ShardOf(last); ++s) {
    const Shard& shard = store_.shard(s);
    shard.WalkRange(first, last,
                    [&](RowHandle handle) { visit(handle.row_class(), shard.row(handle)); });
  }
}

}  // namespace catamaran

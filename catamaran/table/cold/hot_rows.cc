#include "catamaran/table/cold/hot_rows.h"

namespace catamaran {

HotRows::HotRows(const TableConfig& config) : store_(config, {}), writer_(store_) {}

void HotRows::Pull(std::span<const uint64_t> keys, std::span<float> out,
                   std::vector<uint32_t>* missing) const {
  const auto width = static_cast<size_t>(store_.config().width);
  const AttachedRows& attached = writer_.attached();
  // Asked before memory is: what is not beneath now is in memory by then, or nowhere.
  const bool over_saved = attached.attached();
  store_.Pull(keys, out, [&](size_t i, uint64_t hash, bool waiting) {
    float* to = out.data() + i * width;
    if (over_saved && !waiting) {
      // The row may have moved in since it was looked for.
      const RowBacking* beneath = attached.Beneath(hash);
      if (store_.PullOne(hash, keys[i], to, &waiting)) return;
      if (beneath != nullptr && !waiting) {
        RowClass c;
        const uint32_t* record = beneath->Find(keys[i], &c);
        waiting = record != nullptr && c == RowClass::kWaiting;
        if (record != nullptr && !waiting) return rules().Read(c, record, to);
      }
    }
    policies().ReadMissing(keys[i], to);
    if (!waiting) missing->push_back(static_cast<uint32_t>(i));
  });
}

bool HotRows::Get(uint64_t key, RowClass* c, uint32_t* record) const {
  const Epochs::Guard guard(store_.epochs());
  const RowBacking* beneath = writer_.attached().Beneath(store_.config().Hash(key));
  if (store_.Read(key, c, record)) return true;
  const uint32_t* saved = beneath == nullptr ? nullptr : beneath->Find(key, c);
  if (saved == nullptr) return false;
  std::memcpy(record, saved, store_.layout().bytes(*c));
  return true;
}

TableInfo HotRows::Info() const {
  TableInfo info;
  info.narrow_rows = writer_.count(RowClass::kNarrow);
  info.rows = info.narrow_rows + writer_.count(RowClass::kFull);
  info.waiting = writer_.count(RowClass::kWaiting);
  info.index_bytes = store_.index_bytes();
  info.bytes = store_.row_bytes() + info.index_bytes;
  info.pages = store_.pages();
  info.longest_pause_ns = store_.longest_pause_ns();
  writer_.AddInfo(info);
  return info;
}

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

#include "catamaran/table/memory/memory_store.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

int CheckShards(int shards) {
  if (shards < 1 || shards > kTableBuckets || !std::has_single_bit(static_cast<unsigned>(shards))) {
    Fail("table: {} shards, where a power of two from 1 to {} is wanted", shards, kTableBuckets);
  }
  return std::countr_zero(static_cast<unsigned>(shards));
}

// Addresses for the rows of one class in one shard: twice its part of all the memory there is, as
// hashes spread keys evenly.
size_t ReserveBytes(int shards) {
  const auto memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::max(2 * memory / static_cast<size_t>(shards), size_t{1} << 30);
}

}  // namespace

MemoryStore::MemoryStore(const TableConfig& config, const MemoryTableOptions& options)
    : config_((CheckTableConfig(config), config)),
      layout_(config_),
      codec_(config_),
      pull_rows_(PullRowsFor(codec_.isa())),
      shard_bits_(CheckShards(options.shards)) {
  for (int i = 0; i < options.shards; ++i) {
    shards_.push_back(
        std::make_unique<Shard>(config_, layout_, epochs_,
                                Shard::Options{.shard_bits = shard_bits_,
                                               .shard = i,
                                               .pages = options.pages,
                                               .reserve_bytes = ReserveBytes(options.shards)}));
    const Shard& shard = *shards_.back();
    doors_.push_back({&shard.index().root(), shard.rows().row(RowHandle(RowClass::kFull, 0))});
  }
}

bool MemoryStore::Read(uint64_t key, RowClass* c, uint32_t* record) const {
  const uint64_t hash = config_.Hash(key);
  Epochs::Guard guard(epochs_);
  return shard_for(hash).Read(hash, key, c, record);
}

int64_t MemoryStore::count(RowClass c) const {
  int64_t count = 0;
  for (const auto& shard : shards_) count += shard->count(c);
  return count;
}

int64_t MemoryStore::row_bytes() const {
  int64_t bytes = 0;
  for (const auto& shard : shards_) bytes += shard->row_bytes();
  return bytes;
}

int64_t MemoryStore::index_bytes() const {
  int64_t bytes = 0;
  for (const auto& shard : shards_) bytes += shard->index_bytes();
  return bytes;
}

int64_t MemoryStore::longest_pause_ns() const {
  int64_t longest = 0;
  for (const auto& shard : shards_) longest = std::max(longest, shard->longest_pause_ns());
  return longest;
}

std::string MemoryStore::pages() const {
  std::vector<const PageRange*> ranges;
  for (const auto& shard : shards_) {
    for (int c = 0; c < kRowClasses; ++c) {
      ranges.push_back(&shard->rows().of(static_cast<RowClass>(c)).range());
    }
  }
  const PageUse use = MeasurePages(ranges);
  if (use.explicit_huge > use.transparent + use.small) return "2 MiB, explicit";
  if (use.transparent > use.small) return "2 MiB, transparent";
  return fmt::format("{} KiB", sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace catamaran

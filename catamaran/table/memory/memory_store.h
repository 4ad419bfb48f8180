// table/memory/memory_store.h
//
// The rows of a memory table, in shards, and how they are read. What a step does to them, how they
// are saved and when they go is for others (memory_table.h).
//
// Thread safety: Pull, Read and the figures may be called at any time by any thread. Each shard has
// one writer at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/memory/epochs.h"
#include "catamaran/table/memory/pull_rows_simd.h"
#include "catamaran/table/memory/row_finder.h"
#include "catamaran/table/memory/shard.h"
#include "catamaran/table/row_codec.h"
#include "catamaran/table/row_layout.h"
#include "catamaran/table/table_config.h"

namespace catamaran {

struct MemoryTableOptions {
  int shards = 8;  // a power of two, at most kTableBuckets; no result depends on it
  PageMode pages = PageMode::kTransparent;
};

class MemoryStore {
 public:
  // An Error if one of them makes no sense.
  MemoryStore(const TableConfig& config, const MemoryTableOptions& options);

  const TableConfig& config() const { return config_; }
  const RowLayout& layout() const { return layout_; }
  // What readers of rows and slots hold a guard of.
  Epochs& epochs() const { return epochs_; }

  int num_shards() const { return static_cast<int>(shards_.size()); }
  int64_t ShardOf(uint64_t hash) const {
    return static_cast<int64_t>(hash >> 1 >> (63 - shard_bits_));
  }
  Shard& shard(int64_t i) { return *shards_[static_cast<size_t>(i)]; }
  const Shard& shard(int64_t i) const { return *shards_[static_cast<size_t>(i)]; }
  Shard& shard_for(uint64_t hash) { return shard(ShardOf(hash)); }
  const Shard& shard_for(uint64_t hash) const { return shard(ShardOf(hash)); }

  // For who looks up many keys. `nothing` as in RowFinder, which it outlives.
  RowFinder Finder(const uint32_t* nothing) const {
    return RowFinder(doors_.data(), shard_bits_, layout_.of(RowClass::kFull).words, nothing);
  }

  // What to do about key i of a Pull, which has no row here, or only waits for one.
  using Missing = FunctionRef<void(size_t i, uint64_t hash, bool waiting)>;

  // Writes the embeddings of `keys` to `out`, one after another, each as it was at some moment
  // during the call. `missing` writes those of keys without a row; it may call PullOne,
  // and a guard of the epochs is held for it.
  // REQUIRES: out.size() == keys.size() * width.
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Missing missing) const;
  // One key. False, with `out` unchanged or not, if it has no row here.
  bool PullOne(uint64_t hash, uint64_t key, float* out, bool* waiting) const;

  // Copies the record of a key, its sequence bits 0. False if it is not here.
  bool Read(uint64_t key, RowClass* c, uint32_t* record) const;

  // Rows of a class, at this moment.
  int64_t count(RowClass c) const;
  int64_t row_bytes() const;
  int64_t index_bytes() const;
  int64_t longest_pause_ns() const;
  // What most of the rows lie in, as TableInfo says it; looks at what the system says.
  std::string pages() const;

 private:
  // Keys that are key `first` and so on of a Pull.
  template <bool kPlainFloats>
  void PullSome(std::span<const uint64_t> keys, float* out, size_t first, Missing missing) const;

  const TableConfig config_;
  const RowLayout layout_;
  const RowCodec codec_;
  const PullRowsFn pull_rows_;
  const int shard_bits_;
  mutable Epochs epochs_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<ShardDoor> doors_;
};

}  // namespace catamaran

// table/memory/shard_rows.h
//
// All rows of a shard: an arena for each class of rows that the table can have.
//
// Thread safety: that of RowArena.

#pragma once

#include <array>
#include <memory>

#include "catamaran/table/memory/row_access.h"
#include "catamaran/table/memory/row_arena.h"
#include "catamaran/table/memory/row_handle.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {

class ShardRows {
 public:
  ShardRows(const TableConfig& config, const RowLayout& layout, size_t reserve_bytes, PageMode mode,
            Epochs& epochs);

  RowArena& of(RowClass c) { return *arenas_[static_cast<size_t>(c)]; }
  const RowArena& of(RowClass c) const { return *arenas_[static_cast<size_t>(c)]; }

  uint32_t* row(RowHandle handle) const {
    return arenas_[static_cast<size_t>(handle.row_class())]->row(handle.index());
  }

  const TableConfig& config() const { return config_; }

  // Asks for all of a row but the end of a long one.
  void PrefetchRow(RowHandle handle) const {
    constexpr ptrdiff_t kLine = 64 / sizeof(uint32_t);
    constexpr ptrdiff_t kMost = 8 * kLine;  // from there on the processor sees the pattern itself
    const RowArena& arena = of(handle.row_class());
    const uint32_t* const row = arena.row(handle.index());
    const uint32_t* const last = row + (arena.words() > kMost ? kMost : arena.words() - 1);
    for (const uint32_t* at = row; at < last; at += kLine) PrefetchLineOf(at);
    PrefetchLineOf(last);
  }

  // For the writer: of a row that is there.
  uint64_t HashOf(RowHandle handle) const { return config_.Hash(LoadRowKey(row(handle))); }
  void PrefetchKey(RowHandle handle) const { PrefetchLineOf(row(handle) + row_words::kKey); }

 private:
  const TableConfig& config_;
  std::array<std::unique_ptr<RowArena>, kRowClasses> arenas_;
};

}  // namespace catamaran

#include "catamaran/table/memory/shard_rows.h"

namespace catamaran {

ShardRows::ShardRows(const TableConfig& config, const RowLayout& layout, size_t reserve_bytes,
                     PageMode mode, Epochs& epochs)
    : config_(config) {
  for (size_t c = 0; c < kRowClasses; ++c) {
    // A class has no more rows than a handle can name.
    const size_t most = size_t{RowHandle::kMaxRows} * layout.bytes(static_cast<RowClass>(c));
    arenas_[c] = std::make_unique<RowArena>(
        layout.classes[c].words, most < reserve_bytes ? most : reserve_bytes, mode, epochs);
  }
}

}  // namespace catamaran

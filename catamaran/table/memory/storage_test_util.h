// What tests of rows in memory share: records whose words all follow from a key and a version, so
// that a torn or misplaced one is seen.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/base/hash.h"
#include "catamaran/table/memory/shard.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {

inline TableConfig PlainConfig(int64_t width) {
  TableConfig config;
  config.width = width;
  return config;
}

// Every number of the embedding and metadata is this.
inline float StampOf(uint64_t key, uint32_t version) {
  return static_cast<float>(Mix64(key ^ (uint64_t{version} << 40)) >> 41);
}

inline std::vector<uint32_t> StampedRecord(const RowLayout& layout, RowClass c, uint64_t key,
                                           uint32_t version) {
  const RowLayout::Class& row = layout.of(c);
  std::vector<uint32_t> record(static_cast<size_t>(row.words));
  for (int w = 0; w < row.words; ++w) SetRecordFloat(record.data(), w, StampOf(key, version));
  record[row_words::kLastSeen] = version;
  record[row_words::kTag] = version & 0xff;
  SetRecordKey(record.data(), key);
  return record;
}

// Whether it is StampedRecord of its key and some version, all of it.
inline bool IsWhole(const RowLayout& layout, RowClass c, const uint32_t* record) {
  const auto wanted = StampedRecord(layout, c, RecordKey(record), record[row_words::kLastSeen]);
  for (size_t w = 0; w < wanted.size(); ++w) {
    if (record[w] != wanted[w]) return false;
  }
  return true;
}

// Removes the rows of a range that `doomed` picks; asks about each once. Returns how many.
inline int64_t RemoveIf(Shard& shard, const TableConfig& config, uint64_t first, uint64_t last,
                        FunctionRef<bool(RowHandle)> doomed) {
  std::vector<uint64_t> keys;
  shard.WalkRange(first, last, [&](RowHandle handle) {
    if (doomed(handle)) keys.push_back(RecordKey(shard.row(handle)));
  });
  for (const uint64_t key : keys) shard.Remove(shard.Find(config.Hash(key), key));
  return static_cast<int64_t>(keys.size());
}

}  // namespace catamaran

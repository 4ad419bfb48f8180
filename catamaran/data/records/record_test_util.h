// data/records/record_test_util.h
//
// What tests and fuzzers of record files share.

#pragma once

#include <algorithm>
#include <string>

#include "catamaran/base/crc32c.h"
#include "catamaran/data/records/record_format.h"
#include "catamaran/data/records/record_writer.h"

namespace catamaran::testing {

// The bytes of a record file of these rows. `fs` is for tests.
inline std::string RecordBytes(FileSystem& fs, const RowBlock& rows,
                               const RecordWriterOptions& options) {
  RecordWriter writer(fs, "bytes.rec", rows.schema(), options);
  writer.Add(rows);
  writer.Finish();
  std::string bytes = fs.ReadAll("bytes.rec");
  fs.Remove("bytes.rec");
  return bytes;
}

// Makes all checksums of a record file right again, as far as its parts can be found, so that
// changed bytes get as far as code that only checksums would have kept them from.
inline void Reseal(std::string& file) {
  using namespace record_format;
  const uint64_t size = file.size();
  if (size < kHeadBytes + kFooterBytes) return;
  char* data = file.data();
  const auto crc = [&](uint64_t begin, uint64_t bytes) {
    return Crc32c(std::string_view(data + begin, bytes));
  };
  const auto inside = [&](uint64_t begin, uint64_t bytes) {
    return begin <= size && bytes <= size - begin;
  };
  const auto text = Load<uint64_t>(data + 24);
  if (text < size && inside(kHeadBytes, AlignUp(text))) {
    Store(data + 32, crc(kHeadBytes, AlignUp(text)));
  }
  Store(data + 60, crc(0, 60));

  const uint64_t footer = size - kFooterBytes;
  const auto index = Load<uint64_t>(data + footer);
  const auto blocks = Load<uint64_t>(data + footer + 16);
  const auto columns = Load<uint32_t>(data + 12);
  if (index <= footer && blocks <= (footer - index) / kIndexEntryBytes) {
    for (uint64_t b = 0; b < blocks; ++b) {
      char* entry = data + index + b * kIndexEntryBytes;
      const auto offset = Load<uint64_t>(entry);
      const uint64_t head = AlignUp(kBlockHeadBytes + columns * uint64_t{kColumnBytes});
      if (offset >= index || !inside(offset, head)) continue;
      for (uint32_t c = 0; c < columns; ++c) {
        char* column = data + offset + kBlockHeadBytes + c * kColumnBytes;
        const auto begin = Load<uint64_t>(column);
        const auto stored = Load<uint64_t>(column + 8);
        if (begin > size || stored > size || !inside(offset + begin, AlignUp(stored))) continue;
        Store(column + 28, crc(offset + begin, AlignUp(stored)));
      }
      Store(data + offset + 28, uint32_t{0});
      const uint32_t head_crc = crc(offset, head);
      Store(data + offset + 28, head_crc);
      Store(entry + 28, head_crc);
    }
    Store(data + footer + 40, crc(index, footer - index));
  }
  Store(data + footer + 52, crc(footer, 52));
}

}  // namespace catamaran::testing

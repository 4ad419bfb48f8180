// data/records/record_writer.h
//
// Writes a record file: rows in columns, packed, under checksums, with an index at the end.
// docs/formats/records.md has the bytes.
//
//   RecordWriter writer(fs, "day1.rec", schema);
//   while (reader->Read(4096, block)) writer.Add(block);
//   writer.Finish();
//
// Nothing has the final name before Finish: rows go to "day1.rec.tmp", which an unfinished writer
// takes away again. The same rows give the same bytes, however they were grouped when added (with
// the same options, and the same version of zstd).
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/row_block.h"

namespace catamaran {

struct RecordWriterOptions {
  // A block ends after this many rows, or before it takes more bytes than that in memory.
  int64_t rows_per_block = 4096;
  int64_t bytes_per_block = int64_t{16} << 20;
  // Columns that zstd makes smaller by a quarter and more are stored so.
  bool compress = true;
};

class RecordWriter {
 public:
  RecordWriter(FileSystem& fs, const std::string& path, const Schema& schema,
               const RecordWriterOptions& options = {});
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // An Error if the block has another schema, or a row that takes more than kMaxBlockBytes.
  void Add(const RowBlock& block);

  int64_t rows() const;

  // Writes what remains; when it returns, the file is there, durably. No call may follow.
  void Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catamaran

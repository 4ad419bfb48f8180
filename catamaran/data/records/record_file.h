// data/records/record_file.h
//
// A record file for reading, mapped: its schema, its statistics, and its blocks in any order.
// docs/formats/records.md has the bytes.
//
// Nothing in the file is trusted before its checksum has been compared, and what does not fit
// together is an Error even then; it names the file, the block and the bytes.
//
// Thread safety: a RecordFile is immutable and may be used by several threads at once, each with a
// BlockDecoder of its own.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/base/file.h"
#include "catamaran/data/column_stats.h"
#include "catamaran/data/records/column_decoder.h"
#include "catamaran/data/records/compression.h"
#include "catamaran/data/row_block.h"

namespace catamaran {

// Scratch memory of a thread that reads blocks.
class BlockDecoder {
 public:
  // Every instruction set gives the same rows.
  explicit BlockDecoder(Isa isa = DetectIsa()) : columns(isa) {}

 private:
  friend class RecordFile;
  ColumnDecoder columns;
  ZstdCodec zstd;
  Buffer<std::byte> raw;
};

class RecordFile {
 public:
  // Reads and checks all but the blocks.
  static std::shared_ptr<const RecordFile> Open(const FileSystem& fs, const std::string& path);

  // Whether a file that begins so is meant to be one.
  static bool LooksLike(std::string_view start);

  const std::string& path() const { return file_->path(); }
  const Schema& schema() const { return schema_; }
  int64_t num_rows() const { return num_rows_; }
  // By column.
  const std::vector<ColumnStats>& stats() const { return stats_; }
  // A checksum over all checksums: files with other contents have another (but for one in 2^32).
  uint32_t root() const { return root_; }

  struct Block {
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
    int64_t first_row = 0;
    int64_t rows = 0;
    uint32_t head_crc = 0;
  };
  int64_t num_blocks() const { return static_cast<int64_t>(blocks_.size()); }
  const Block& block(int64_t b) const { return blocks_[static_cast<size_t>(b)]; }

  // The block that has the row. REQUIRES: 0 <= row < num_rows().
  int64_t BlockOfRow(int64_t row) const;

  // Makes `out` the rows of block b. `wanted` is columns of schema() by number, and `chosen` the
  // schema of them, in that order; bytes of others are not touched. What was in `out` goes.
  void ReadBlock(int64_t b, const Schema& chosen, std::span<const int> wanted,
                 BlockDecoder& decoder, RowBlock& out) const;

  // The block will be read soon.
  void WillNeed(int64_t b) const;

  // Reads everything: an Error if anything at all is not as it was written.
  void Verify() const;

 private:
  explicit RecordFile(std::unique_ptr<MappedFile> file);
  void ReadHead();
  void ReadFooter();
  void ReadBlockIndex(std::span<const std::byte> index, uint64_t end);
  void ReadStats(std::span<const std::byte> stats);
  void ReadColumn(int64_t b, const Column& column, const std::byte* entry, BlockDecoder& decoder,
                  uint64_t& memory, ColumnBlock& out) const;

  std::unique_ptr<MappedFile> file_;
  Schema schema_;
  uint64_t body_begin_ = 0;  // of the first block
  int64_t num_rows_ = 0;
  uint32_t root_ = 0;
  std::vector<Block> blocks_;
  std::vector<ColumnStats> stats_;
};

}  // namespace catamaran

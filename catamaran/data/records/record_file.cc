#include "catamaran/data/records/record_file.h"

#include <algorithm>
#include <numeric>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/data/records/record_format.h"

namespace catamaran {
namespace {

using record_format::AlignUp;
using record_format::Load;

// The checksum of a block's head, in which the field of the checksum counts as 0.
uint32_t HeadCrc(std::span<const std::byte> head) {
  constexpr std::byte kZeros[4] = {};
  return Crc32c(head.subspan(record_format::kBlockHeadBytes),
                Crc32c(kZeros, Crc32c(head.first(record_format::kBlockHeadBytes - 4))));
}

}  // namespace

bool RecordFile::LooksLike(std::string_view start) {
  return start.starts_with(std::string_view(record_format::kMagic, sizeof(record_format::kMagic)));
}

RecordFile::RecordFile(std::unique_ptr<MappedFile> file) : file_(std::move(file)) {}

std::shared_ptr<const RecordFile> RecordFile::Open(const FileSystem& fs, const std::string& path) {
  std::shared_ptr<RecordFile> file(new RecordFile(fs.Map(path)));
  file->ReadHead();
  file->ReadFooter();
  return file;
}

void RecordFile::ReadHead() {
  const auto bytes = file_->bytes();
  const std::byte* head = bytes.data();
  if (!LooksLike({reinterpret_cast<const char*>(head), bytes.size()})) {
    Fail(ErrorCode::kStorage, "{}: not a record file: it begins with other bytes", path());
  }
  if (bytes.size() < record_format::kHeadBytes + record_format::kFooterBytes) {
    Fail(ErrorCode::kStorage, "{}: cut off: a record file has more than its {} bytes", path(),
         bytes.size());
  }
  const auto version = Load<uint32_t>(head + 8);
  if (version != record_format::kVersion) {
    Fail(ErrorCode::kStorage, "{}: version {} of the record format; this program reads version {}",
         path(), version, record_format::kVersion);
  }
  if (Crc32c(bytes.first(60)) != Load<uint32_t>(head + 60)) {
    Fail(ErrorCode::kStorage, "{}: damaged: the head, bytes 0 to {}, has a wrong checksum", path(),
         record_format::kHeadBytes - 1);
  }
  const auto text_bytes = Load<uint64_t>(head + 24);
  body_begin_ = AlignUp(record_format::kHeadBytes + text_bytes);
  if (text_bytes > record_format::kMaxSchemaBytes ||
      body_begin_ > bytes.size() - record_format::kFooterBytes) {
    Fail(ErrorCode::kStorage, "{}: cut off: it ends within its schema", path());
  }
  const auto text = bytes.subspan(record_format::kHeadBytes,
                                  static_cast<size_t>(body_begin_ - record_format::kHeadBytes));
  if (Crc32c(text) != Load<uint32_t>(head + 32)) {
    Fail(ErrorCode::kStorage, "{}: damaged: the schema, bytes {} to {}, has a wrong checksum",
         path(), record_format::kHeadBytes, body_begin_ - 1);
  }
  schema_ = Schema::Parse({reinterpret_cast<const char*>(text.data()), text_bytes}, path());
  if (schema_.hash() != Load<uint64_t>(head + 16) || schema_.size() == 0 ||
      static_cast<uint32_t>(schema_.size()) != Load<uint32_t>(head + 12)) {
    Fail(ErrorCode::kStorage, "{}: damaged: the schema is not the one that the head describes",
         path());
  }
}

void RecordFile::ReadFooter() {
  const auto bytes = file_->bytes();
  const uint64_t end = bytes.size() - record_format::kFooterBytes;
  const std::byte* footer = bytes.data() + end;
  if (std::memcmp(footer + 56, record_format::kEndMagic, 8) != 0) {
    Fail(ErrorCode::kStorage, "{}: cut off: it does not end, at byte {}, as a record file does",
         path(), bytes.size());
  }
  root_ = Load<uint32_t>(footer + 52);
  if (Crc32c(bytes.subspan(end, 52)) != root_) {
    Fail(ErrorCode::kStorage, "{}: damaged: the footer, bytes {} to {}, has a wrong checksum",
         path(), end, bytes.size() - 1);
  }
  const auto index_begin = Load<uint64_t>(footer);
  const auto index_bytes = Load<uint64_t>(footer + 8);
  const auto blocks = Load<uint64_t>(footer + 16);
  const uint64_t stats_bytes = static_cast<uint64_t>(schema_.size()) * record_format::kStatsBytes;
  num_rows_ = Load<int64_t>(footer + 24);
  if (index_begin < body_begin_ || index_begin > end || index_bytes > end - index_begin ||
      stats_bytes != end - index_begin - index_bytes ||
      blocks > index_bytes / record_format::kIndexEntryBytes ||
      index_bytes != AlignUp(blocks * record_format::kIndexEntryBytes) ||
      Load<uint64_t>(footer + 32) != schema_.hash()) {
    Fail(ErrorCode::kStorage, "{}: damaged: the footer, bytes {} to {}, does not fit the file",
         path(), end, bytes.size() - 1);
  }
  const auto index = bytes.subspan(index_begin, end - index_begin);
  if (Crc32c(index) != Load<uint32_t>(footer + 40)) {
    Fail(ErrorCode::kStorage, "{}: damaged: the index, bytes {} to {}, has a wrong checksum",
         path(), index_begin, end - 1);
  }
  ReadBlockIndex(index.first(blocks * record_format::kIndexEntryBytes), index_begin);
  ReadStats(index.subspan(index_bytes));
}

void RecordFile::ReadBlockIndex(std::span<const std::byte> index, uint64_t end) {
  blocks_.resize(index.size() / record_format::kIndexEntryBytes);
  uint64_t offset = body_begin_;
  int64_t rows = 0;
  const std::byte* at = index.data();
  for (size_t b = 0; b < blocks_.size(); ++b, at += record_format::kIndexEntryBytes) {
    Block& block = blocks_[b];
    block.offset = Load<uint64_t>(at);
    block.bytes = Load<uint64_t>(at + 8);
    block.first_row = Load<int64_t>(at + 16);
    block.rows = Load<uint32_t>(at + 24);
    block.head_crc = Load<uint32_t>(at + 28);
    const uint64_t head = record_format::kBlockHeadBytes +
                          static_cast<uint64_t>(schema_.size()) * record_format::kColumnBytes;
    if (block.offset != offset || block.bytes > end - offset || block.bytes < AlignUp(head) ||
        block.bytes % record_format::kAlignment != 0 || block.first_row != rows || block.rows < 1 ||
        block.rows > record_format::kMaxBlockRows) {
      Fail(ErrorCode::kStorage,
           "{}: damaged: what the index says of block {} does not fit the file", path(), b);
    }
    offset += block.bytes;
    rows += block.rows;
  }
  if (offset != end || rows != num_rows_) {
    Fail(ErrorCode::kStorage, "{}: damaged: the index does not list all blocks, or not all rows",
         path());
  }
}

void RecordFile::ReadStats(std::span<const std::byte> stats) {
  const std::byte* at = stats.data();
  for (const Column& column : schema_) {
    ColumnStats entry;
    entry.rows = num_rows_;
    entry.missing = Load<int64_t>(at);
    entry.elements = Load<int64_t>(at + 8);
    if (column.dtype == DType::kF32) {
      entry.min = Load<double>(at + 16);
      entry.max = Load<double>(at + 24);
    } else {
      entry.min_int = Load<int64_t>(at + 16);
      entry.max_int = Load<int64_t>(at + 24);
    }
    entry.mean = Load<double>(at + 32);
    entry.min_length = Load<int64_t>(at + 40);
    entry.max_length = Load<int64_t>(at + 48);
    entry.distinct = Load<int64_t>(at + 56);
    stats_.push_back(entry);
    at += record_format::kStatsBytes;
  }
}

int64_t RecordFile::BlockOfRow(int64_t row) const {
  const auto after = std::ranges::upper_bound(blocks_, row, {}, &Block::first_row);
  return after - blocks_.begin() - 1;
}

void RecordFile::WillNeed(int64_t b) const { file_->WillNeed(block(b).offset, block(b).bytes); }

void RecordFile::ReadBlock(int64_t b, const Schema& chosen, std::span<const int> wanted,
                           BlockDecoder& decoder, RowBlock& out) const {
  const Block& in = block(b);
  const auto bytes = file_->bytes().subspan(in.offset, in.bytes);
  const std::byte* head = bytes.data();
  const auto columns = static_cast<size_t>(schema_.size());
  const uint64_t head_bytes =
      AlignUp(record_format::kBlockHeadBytes + columns * record_format::kColumnBytes);
  if (HeadCrc(bytes.first(head_bytes)) != in.head_crc) {
    Fail(ErrorCode::kStorage,
         "{}: block {}: damaged: its head, bytes {} to {}, has a wrong checksum", path(), b,
         in.offset, in.offset + head_bytes - 1);
  }
  if (Load<uint32_t>(head) != record_format::kBlockMagic || Load<uint32_t>(head + 4) != in.rows ||
      Load<int64_t>(head + 8) != in.first_row || Load<uint64_t>(head + 16) != in.bytes ||
      Load<uint32_t>(head + 24) != columns || Load<uint32_t>(head + 28) != in.head_crc) {
    Fail(ErrorCode::kStorage,
         "{}: block {}: damaged: its head, at byte {}, is not what the index says", path(), b,
         in.offset);
  }
  out.Begin(chosen);
  uint64_t memory = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto column = static_cast<size_t>(wanted[i]);
    ReadColumn(b, schema_[wanted[i]],
               head + record_format::kBlockHeadBytes + column * record_format::kColumnBytes,
               decoder, memory, out[static_cast<int>(i)]);
  }
  out.SetRows(in.rows);
}

void RecordFile::ReadColumn(int64_t b, const Column& column, const std::byte* entry,
                            BlockDecoder& decoder, uint64_t& memory, ColumnBlock& out) const {
  const Block& in = block(b);
  const auto offset = Load<uint64_t>(entry);
  const auto stored = Load<uint64_t>(entry + 8);
  const auto raw = Load<uint64_t>(entry + 16);
  const auto elements = Load<uint32_t>(entry + 24);
  const auto compression = Load<record_format::Compression>(entry + 32);
  const auto fail = [&](std::string_view what) {
    Fail(ErrorCode::kStorage, "{}: block {}, column '{}': damaged: {}", path(), b, column.name,
         what);
  };
  if (offset % record_format::kAlignment != 0 || offset > in.bytes || stored > in.bytes - offset) {
    fail("its bytes are not in the block");
  }
  // Blocks and columns are aligned, so what fills up the last line is there.
  const auto bytes = file_->bytes().subspan(in.offset + offset, AlignUp(stored));
  if (Crc32c(bytes) != Load<uint32_t>(entry + 28)) {
    fail(fmt::format("bytes {} to {} have a wrong checksum", in.offset + offset,
                     in.offset + offset + bytes.size() - 1));
  }
  uint64_t element_bytes = SizeOf(column.dtype);
  if (column.kind == ColumnKind::kWeightedIds) element_bytes += sizeof(float);
  const uint64_t lists = column.has_offsets() ? static_cast<uint64_t>(in.rows) * 4 : 0;
  const uint64_t needed = elements * element_bytes + lists;
  memory += needed;
  if (column.kind == ColumnKind::kDense &&
      elements != static_cast<uint64_t>(in.rows) * static_cast<uint64_t>(column.width())) {
    fail(
        fmt::format("{} numbers, wanted {} in each of {} rows", elements, column.width(), in.rows));
  }
  if (memory > record_format::kMaxBlockBytes) fail("the block would take too much memory");
  std::span<const std::byte> encoded = bytes.first(stored);
  try {
    if (compression == record_format::Compression::kZstd) {
      // No encoding takes twice the room of what it encodes.
      if (raw > 2 * needed + 4096)
        Fail(ErrorCode::kStorage, "{} compressed bytes would be {}", stored, raw);
      decoder.zstd.Decompress(encoded, raw, decoder.raw);
      encoded = decoder.raw.span();
    } else if (compression != record_format::Compression::kNone) {
      Fail(ErrorCode::kStorage, "compression {} is not known", static_cast<int>(compression));
    } else if (raw != stored) {
      Fail(ErrorCode::kStorage, "{} bytes that are not compressed, wanted {}", stored, raw);
    }
    decoder.columns.Decode(column, encoded, in.rows, elements, out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kStorage) throw;  // no memory for them
    fail(fmt::format("bytes {} to {}: {}", in.offset + offset,
                     in.offset + offset + std::max<uint64_t>(bytes.size(), 1) - 1, error.what()));
  }
}

void RecordFile::Verify() const {
  std::vector<int> all(static_cast<size_t>(schema_.size()));
  std::iota(all.begin(), all.end(), 0);
  BlockDecoder decoder;
  RowBlock rows;
  std::vector<int64_t> elements(all.size());
  for (int64_t b = 0; b < num_blocks(); ++b) {
    ReadBlock(b, schema_, all, decoder, rows);
    rows.Check(path());
    for (size_t c = 0; c < all.size(); ++c) {
      const ColumnBlock& column = rows[static_cast<int>(c)];
      elements[c] += static_cast<int64_t>(
          std::max({column.ints.size(), column.bytes.size(), column.floats.size()}));
    }
  }
  for (size_t c = 0; c < all.size(); ++c) {
    if (elements[c] != stats_[c].elements) {
      Fail(ErrorCode::kStorage,
           "{}: column '{}': damaged: its statistics count {} elements, its blocks have {}", path(),
           schema_[all[c]].name, stats_[c].elements, elements[c]);
    }
  }
}

}  // namespace catamaran

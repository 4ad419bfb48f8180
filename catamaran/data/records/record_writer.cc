#include "catamaran/data/records/record_writer.h"

#include <algorithm>
#include <vector>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/data/column_stats.h"
#include "catamaran/data/records/column_encoder.h"
#include "catamaran/data/records/compression.h"
#include "catamaran/data/records/record_format.h"

namespace catamaran {
namespace {

using record_format::AlignUp;
using record_format::Store;

// Compressed columns take longer to read, so they must be this much smaller, and not be small
// already.
constexpr size_t kCompressFrom = 4096;
constexpr double kCompressionPays = 0.75;
// After a block in which compressing a column did not pay, it is not tried in as many.
constexpr int kBlocksWithoutTrial = 15;

// What the rows [begin, end) take in memory.
int64_t BytesOfRows(const RowBlock& block, int64_t begin, int64_t end) {
  int64_t bytes = 0;
  for (int i = 0; i < block.schema().size(); ++i) {
    const Column& column = block.schema()[i];
    const auto size = static_cast<int64_t>(SizeOf(column.dtype));
    if (column.kind == ColumnKind::kDense) {
      bytes += (end - begin) * column.width() * size;
      continue;
    }
    const auto& offsets = block[i].offsets;
    const int64_t elements =
        offsets[static_cast<size_t>(end)] - offsets[static_cast<size_t>(begin)];
    bytes += (end - begin) * 4 + elements * size;
    if (column.kind == ColumnKind::kWeightedIds) bytes += elements * 4;
  }
  return bytes;
}

void AlignBytes(std::string& bytes) { bytes.resize(AlignUp(bytes.size()), '\0'); }

}  // namespace

class RecordWriter::Impl {
 public:
  Impl(FileSystem& fs, const std::string& path, const Schema& schema,
       const RecordWriterOptions& options)
      : fs_(fs),
        path_(path),
        temporary_(path + ".tmp"),
        schema_(schema),
        options_(options),
        pending_(schema),
        pauses_(static_cast<size_t>(schema.size()), 0) {
    if (options.rows_per_block < 1 || options.rows_per_block > record_format::kMaxBlockRows) {
      Fail("{}: blocks of {} rows; wanted 1 to {}", path, options.rows_per_block,
           record_format::kMaxBlockRows);
    }
    if (options.bytes_per_block < 1 ||
        options.bytes_per_block > static_cast<int64_t>(record_format::kMaxBlockBytes)) {
      Fail("{}: blocks of {} bytes; wanted 1 to {}", path, options.bytes_per_block,
           record_format::kMaxBlockBytes);
    }
    if (schema.size() == 0) Fail("{}: rows without columns cannot be written", path);
    for (const Column& column : schema) stats_.emplace_back(column);
    file_ = fs.OpenWrite(temporary_);
    try {
      WriteHead();
    } catch (...) {
      Abandon();
      throw;
    }
  }

  ~Impl() {
    if (file_ != nullptr) Abandon();
  }

  void Add(const RowBlock& block) {
    CATAMARAN_CHECK(file_ != nullptr, "the writer is finished, or has failed");
    const std::string difference = Difference(schema_, block.schema());
    if (!difference.empty()) Fail("{}: rows of other columns: {}", path_, difference);
    block.Check(path_);
    for (int64_t begin = 0; begin < block.rows();) {
      const int64_t end = EndOfFit(block, begin);
      if (end == begin) {
        WriteBlock();
        continue;
      }
      pending_.AppendRows(block, begin, end);
      pending_bytes_ += BytesOfRows(block, begin, end);
      begin = end;
      if (pending_.rows() == options_.rows_per_block) WriteBlock();
    }
  }

  int64_t rows() const { return rows_ + pending_.rows(); }

  void Finish() {
    CATAMARAN_CHECK(file_ != nullptr, "the writer is finished, or has failed");
    WriteBlock();
    WriteIndex();
    file_->Sync();
    file_->Close();
    fs_.Rename(temporary_, path_);
    file_ = nullptr;
    fs_.SyncDirectory(ParentDirectory(path_));
  }

 private:
  struct BlockEntry {
    uint64_t offset, bytes, first_row;
    uint32_t rows, head_crc;
  };

  void Abandon() noexcept {
    file_ = nullptr;
    try {
      fs_.Remove(temporary_);
    } catch (const Error&) {
      // The error that brought us here says more.
    }
  }

  void Append(std::string_view bytes) {
    file_->Append(bytes);
    size_ += bytes.size();
  }

  // How far the rows of `block` from `begin` on fit into the block that is being gathered. One row
  // fits into an empty one.
  int64_t EndOfFit(const RowBlock& block, int64_t begin) const {
    const int64_t most = options_.rows_per_block - pending_.rows();
    int64_t low = begin, high = std::min(block.rows(), begin + most);
    const auto fits = [&](int64_t end) {
      return pending_bytes_ + BytesOfRows(block, begin, end) <= options_.bytes_per_block;
    };
    if (fits(high)) return high;
    while (high - low > 1) {  // low fits, high does not
      const int64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    if (low > begin || pending_.rows() > 0) return low;
    const int64_t bytes = BytesOfRows(block, begin, begin + 1);
    if (bytes > static_cast<int64_t>(record_format::kMaxBlockBytes)) {
      Fail("{}: row {} takes {} bytes; the most is {}", path_, rows(), bytes,
           record_format::kMaxBlockBytes);
    }
    return begin + 1;
  }

  void WriteHead() {
    std::string text = schema_.ToString();
    char head[record_format::kHeadBytes] = {};
    std::memcpy(head, record_format::kMagic, sizeof(record_format::kMagic));
    Store(head + 8, record_format::kVersion);
    Store(head + 12, static_cast<uint32_t>(schema_.size()));
    Store(head + 16, schema_.hash());
    Store(head + 24, static_cast<uint64_t>(text.size()));
    if (text.size() > record_format::kMaxSchemaBytes) {
      Fail("{}: the schema has {} bytes; the most is {}", path_, text.size(),
           record_format::kMaxSchemaBytes);
    }
    AlignBytes(text);
    Store(head + 32, Crc32c(text));
    Store(head + 60, Crc32c({head, 60}));
    Append({head, sizeof(head)});
    Append(text);
  }

  // The bytes of one column of the pending block, compressed where that pays, and what the block's
  // head says of them.
  void WriteColumn(int column, char* entry) {
    piece_.clear();
    EncodeColumn(schema_[column], pending_[column], pending_.rows(), piece_);
    const uint64_t raw_bytes = piece_.size();
    auto compression = record_format::Compression::kNone;
    int& pause = pauses_[static_cast<size_t>(column)];
    if (pause > 0) {
      --pause;
    } else if (options_.compress && piece_.size() >= kCompressFrom) {
      zstd_.Compress(std::as_bytes(std::span(piece_)), compressed_);
      if (!compressed_.empty() && static_cast<double>(compressed_.size()) <=
                                      kCompressionPays * static_cast<double>(piece_.size())) {
        compression = record_format::Compression::kZstd;
        piece_.swap(compressed_);
      } else {
        pause = kBlocksWithoutTrial;
      }
    }
    const ColumnBlock& block = pending_[column];
    const size_t elements = std::max({block.ints.size(), block.bytes.size(), block.floats.size()});
    Store(entry + 8, static_cast<uint64_t>(piece_.size()));
    Store(entry + 16, raw_bytes);
    AlignBytes(piece_);
    Store(entry + 24, static_cast<uint32_t>(elements));
    Store(entry + 28, Crc32c(piece_));
    Store(entry + 32, compression);
  }

  void WriteBlock() {
    if (pending_.rows() == 0) return;
    const auto columns = static_cast<size_t>(schema_.size());
    const size_t head_bytes =
        AlignUp(record_format::kBlockHeadBytes + columns * record_format::kColumnBytes);
    block_.assign(head_bytes, '\0');
    for (int c = 0; c < schema_.size(); ++c) {
      stats_[static_cast<size_t>(c)].Add(pending_[c], pending_.rows());
      char entry[record_format::kColumnBytes] = {};
      Store(entry, static_cast<uint64_t>(block_.size()));
      WriteColumn(c, entry);
      block_ += piece_;
      std::memcpy(block_.data() + record_format::kBlockHeadBytes +
                      static_cast<size_t>(c) * record_format::kColumnBytes,
                  entry, sizeof(entry));
    }
    char* head = block_.data();
    Store(head, record_format::kBlockMagic);
    Store(head + 4, static_cast<uint32_t>(pending_.rows()));
    Store(head + 8, static_cast<uint64_t>(rows_));
    Store(head + 16, static_cast<uint64_t>(block_.size()));
    Store(head + 24, static_cast<uint32_t>(columns));
    const uint32_t crc = Crc32c({head, head_bytes});  // the field itself is 0
    Store(head + 28, crc);
    index_.push_back({size_, block_.size(), static_cast<uint64_t>(rows_),
                      static_cast<uint32_t>(pending_.rows()), crc});
    Append(block_);
    rows_ += pending_.rows();
    pending_.Begin(schema_);
    pending_bytes_ = 0;
    // The disk writes while rows are gathered.
    if (size_ >= begun_ + (uint64_t{16} << 20)) {
      file_->BeginSync();
      begun_ = size_;
    }
  }

  void WriteIndex() {
    std::string index(index_.size() * record_format::kIndexEntryBytes, '\0');
    char* at = index.data();
    for (const BlockEntry& block : index_) {
      Store(at, block.offset);
      Store(at + 8, block.bytes);
      Store(at + 16, block.first_row);
      Store(at + 24, block.rows);
      Store(at + 28, block.head_crc);
      at += record_format::kIndexEntryBytes;
    }
    AlignBytes(index);
    const uint64_t index_bytes = index.size();
    for (int c = 0; c < schema_.size(); ++c) {
      const ColumnStats stats = stats_[static_cast<size_t>(c)].Finish();
      char entry[record_format::kStatsBytes] = {};
      Store(entry, stats.missing);
      Store(entry + 8, stats.elements);
      if (schema_[c].dtype == DType::kF32) {
        Store(entry + 16, stats.min);
        Store(entry + 24, stats.max);
      } else {
        Store(entry + 16, stats.min_int);
        Store(entry + 24, stats.max_int);
      }
      Store(entry + 32, stats.mean);
      Store(entry + 40, stats.min_length);
      Store(entry + 48, stats.max_length);
      Store(entry + 56, stats.distinct);
      index.append(entry, sizeof(entry));
    }
    char footer[record_format::kFooterBytes] = {};
    Store(footer, size_);
    Store(footer + 8, index_bytes);
    Store(footer + 16, static_cast<uint64_t>(index_.size()));
    Store(footer + 24, static_cast<uint64_t>(rows_));
    Store(footer + 32, schema_.hash());
    Store(footer + 40, Crc32c(index));
    Store(footer + 52, Crc32c({footer, 52}));
    std::memcpy(footer + 56, record_format::kEndMagic, sizeof(record_format::kEndMagic));
    Append(index);
    Append({footer, sizeof(footer)});
  }

  FileSystem& fs_;
  const std::string path_, temporary_;
  const Schema schema_;
  const RecordWriterOptions options_;
  std::unique_ptr<WritableFile> file_;  // null once finished
  RowBlock pending_;                    // rows of the block that is being gathered
  int64_t pending_bytes_ = 0;
  int64_t rows_ = 0;  // in the blocks that are written
  uint64_t size_ = 0;
  uint64_t begun_ = 0;  // bytes that the disk has been asked to write
  std::vector<BlockEntry> index_;
  std::vector<ColumnStatsCollector> stats_;
  ZstdCodec zstd_;
  std::vector<int> pauses_;  // by column: as many blocks are stored without trying to compress
  std::string block_, piece_, compressed_;
};

RecordWriter::RecordWriter(FileSystem& fs, const std::string& path, const Schema& schema,
                           const RecordWriterOptions& options)
    : impl_(std::make_unique<Impl>(fs, path, schema, options)) {}
RecordWriter::~RecordWriter() = default;
void RecordWriter::Add(const RowBlock& block) { impl_->Add(block); }
int64_t RecordWriter::rows() const { return impl_->rows(); }
void RecordWriter::Finish() { impl_->Finish(); }

}  // namespace catamaran

#include "catamaran/data/records/record_reader.h"

#include <algorithm>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr std::string_view kKind = "records";

class RecordReader final : public RowReader {
 public:
  RecordReader(std::shared_ptr<const RecordFile> file, const ReaderOptions& options)
      : file_(std::move(file)), schema_(file_->schema()) {
    if (options.schema) {
      const std::string difference = Difference(*options.schema, schema_);
      if (!difference.empty()) Fail("{}: other columns than asked for: {}", path(), difference);
    }
    schema_ = ChooseColumns(schema_, options, path());
    for (const Column& column : schema_) wanted_.push_back(file_->schema().Find(column.name));
  }

  const Schema& schema() const override { return schema_; }

  bool Read(int64_t max_rows, RowBlock& block) override {
    if (row_ == file_->num_rows()) {
      block.Begin(schema_);
      return false;
    }
    if (row_ < block_begin_ || row_ >= block_end_) {
      block_ = file_->BlockOfRow(row_);
      block_begin_ = file_->block(block_).first_row;
      block_end_ = block_begin_ + file_->block(block_).rows;
      loaded_ = false;
      if (block_ + 1 < file_->num_blocks()) file_->WillNeed(block_ + 1);
    }
    if (row_ == block_begin_ && max_rows >= block_end_ - block_begin_) {
      file_->ReadBlock(block_, schema_, wanted_, decoder_, block);
      given_ = row_;
      row_ = block_end_;
      return true;
    }
    if (!loaded_) {
      file_->ReadBlock(block_, schema_, wanted_, decoder_, rows_);
      loaded_ = true;
    }
    const int64_t end = std::min(block_end_, row_ + std::min(max_rows, block_end_ - row_));
    block.Begin(schema_);
    block.AppendRows(rows_, row_ - block_begin_, end - block_begin_);
    given_ = row_;
    row_ = end;
    return true;
  }

  Position position() const override {
    PositionWriter out(kKind);
    out.Put(row_);
    out.Put(static_cast<int64_t>(file_->root()));
    return out.Take();
  }

  void Seek(const Position& position) override {
    if (position.bytes.empty()) return SeekRow(0);
    PositionReader in(position, kKind, path());
    const int64_t row = in.GetInt();
    const int64_t root = in.GetInt();
    in.End();
    if (root != static_cast<int64_t>(file_->root())) {
      Fail("{}: the position is of a file with other contents", path());
    }
    SeekRow(row);
  }

  std::optional<int64_t> num_rows() const override { return file_->num_rows(); }

  void SeekRow(int64_t row) override {
    if (row < 0 || row > file_->num_rows()) {
      Fail("{}: there is no row {}; the file has {} rows", path(), row, file_->num_rows());
    }
    row_ = row;
  }

  // A part is a stored block.
  int64_t num_parts() const override { return file_->num_blocks(); }

  void ReadPart(int64_t part, RowBlock& block) override {
    file_->ReadBlock(part, schema_, wanted_, decoder_, block);
    row_ = file_->block(part).first_row + block.rows();
    given_ = file_->block(part).first_row;
  }

  RowPlaces places() const override { return {.file = path(), .first_row = given_}; }

 private:
  const std::string& path() const { return file_->path(); }

  const std::shared_ptr<const RecordFile> file_;
  Schema schema_;
  std::vector<int> wanted_;  // the columns of the file that make up schema_
  BlockDecoder decoder_;
  int64_t row_ = 0;    // the next
  int64_t given_ = 0;  // the first of those that were read last
  // The block that had the last row that was read.
  int64_t block_ = -1, block_begin_ = 0, block_end_ = 0;
  bool loaded_ = false;  // rows_ holds that block
  RowBlock rows_;
};

}  // namespace

std::unique_ptr<RowReader> MakeRecordReader(std::shared_ptr<const RecordFile> file,
                                            const ReaderOptions& options) {
  return std::make_unique<RecordReader>(std::move(file), options);
}

DataFormat RecordsFormat() {
  return {.name = "records",
          .matches = [](std::string_view,
                        std::string_view start) { return RecordFile::LooksLike(start); },
          .open = [](const FileSystem& fs, const std::string& path,
                     const ReaderOptions& options) -> std::unique_ptr<RowReader> {
            return MakeRecordReader(RecordFile::Open(fs, path), options);
          }};
}

}  // namespace catamaran

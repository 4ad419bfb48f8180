#include "catamaran/stream/source/row_source.h"

#include <charconv>

namespace catamaran {
namespace {

constexpr int64_t kBlockRows = 1024;

class RowSource final : public Source {
 public:
  RowSource(std::unique_ptr<RowReader> reader, RowToRecord to_record, std::string name)
      : reader_(std::move(reader)), to_record_(std::move(to_record)), name_(std::move(name)) {
    Seek({});
  }

  Result Next(StreamRecord& record, std::chrono::nanoseconds /*timeout*/) override {
    if (row_ == block_.rows() && !ReadBlock()) return Result::kEnd;
    to_record_(block_, row_, record, payload_);
    record.payload = std::as_bytes(std::span(payload_.data(), payload_.size()));
    ++row_;
    return Result::kRecord;
  }

  // The reader's position before the block, and how many rows behind it.
  Positions position() const override {
    return {{name_, fmt::format("{}:{}", row_, block_begin_.bytes)}};
  }

  void Seek(const Positions& positions) override {
    int64_t skip = 0;
    Position from;
    if (const auto found = positions.find(name_); found != positions.end()) {
      const std::string& text = found->second;
      const char* const end = text.data() + text.size();
      const auto [behind, error] = std::from_chars(text.data(), end, skip);
      if (error != std::errc() || behind == end || *behind != ':' || skip < 0) {
        Fail(ErrorCode::kStorage, "this is not a position of rows ({})", name_);
      }
      from.bytes.assign(behind + 1, end);
    }
    reader_->Seek(from);
    block_ = RowBlock(reader_->schema());
    block_begin_ = from;
    row_ = 0;
    while (skip > block_.rows()) {
      skip -= block_.rows();
      if (!ReadBlock()) Fail(ErrorCode::kStorage, "the rows end before the position ({})", name_);
    }
    row_ = skip;
  }

 private:
  bool ReadBlock() {
    Position before = reader_->position();
    if (!reader_->Read(kBlockRows, block_)) return false;
    block_begin_ = std::move(before);
    row_ = 0;
    return true;
  }

  const std::unique_ptr<RowReader> reader_;
  const RowToRecord to_record_;
  const std::string name_;
  RowBlock block_;
  Position block_begin_;
  int64_t row_ = 0;
  std::string payload_;
};

}  // namespace

std::unique_ptr<Source> MakeRowSource(std::unique_ptr<RowReader> reader, RowToRecord to_record,
                                      std::string name) {
  return std::make_unique<RowSource>(std::move(reader), std::move(to_record), std::move(name));
}

}  // namespace catamaran

#include "catamaran/stream/log/segment_writer.h"

namespace catamaran {

using namespace log_format;

SegmentWriter::SegmentWriter(FileSystem& fs, std::string directory, LogSyncer& syncer,
                             LogOffset first, LogOffset end)
    : fs_(fs),
      directory_(std::move(directory)),
      syncer_(syncer),
      first_(first),
      end_(end),
      path_(JoinPath(directory_, SegmentName(first))),
      file_(fs.OpenAppend(path_)) {}

void SegmentWriter::Refuse(const Error& error) const {
  throw LogFull(
      fmt::format("{}: nothing was added to the log: {}", directory_, error.what()),
      error.code() == ErrorCode::kStorage ? ErrorCode::kStorage : ErrorCode::kResourceExhausted);
}

void SegmentWriter::Append(std::span<const std::byte> bytes) {
  CATAMARAN_CHECK(!must_begin_);
  try {
    if (wrong_) PutRight();
    wrong_ = true;
    file_->Append(bytes);
    wrong_ = false;
    end_ += bytes.size();
  } catch (const Error& error) {
    try {
      if (wrong_) PutRight();
    } catch (const Error&) {  // the next append tries again
    }
    Refuse(error);
  }
}

void SegmentWriter::PutRight() {
  syncer_.WhileNotSyncing([&] {
    file_ = nullptr;
    fs_.Truncate(path_, kHeadBytes + (end_ - first_));
  });
  file_ = fs_.OpenAppend(path_);
  wrong_ = false;
}

void SegmentWriter::BeginSegment(const SegmentHead& head) {
  CATAMARAN_CHECK(head.first == end_);
  const std::string path = JoinPath(directory_, SegmentName(end_));
  try {
    if (wrong_) PutRight();
    // From here on the file may be there, with a part of its head: nothing may be added to the
    // segment before until it is whole.
    must_begin_ = true;
    auto file = fs_.OpenWrite(path);
    file->Append(StoreHead(head));
    syncer_.AddSegment(end_, path, true);
    file_ = std::move(file);
  } catch (const Error& error) {
    Refuse(error);
  }
  must_begin_ = false;
  first_ = end_;
  path_ = path;
}

}  // namespace catamaran

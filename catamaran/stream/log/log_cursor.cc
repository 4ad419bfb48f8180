// LogCursor, of log.h.

#include "catamaran/stream/log/frame_reader.h"

namespace catamaran {

struct LogCursor::Inside {
  std::shared_ptr<LogContents> contents;
  LogOffset at;
  LogSegment segment;  // where it reads; without a file: not looked up yet
  FrameReader reader;
};

LogCursor::LogCursor(std::shared_ptr<LogContents> contents, LogOffset from) {
  const uint64_t id = contents->id();
  inside_ = std::make_unique<Inside>(Inside{std::move(contents), 0, {}, FrameReader(id)});
  Seek(from);
}

LogCursor::LogCursor(LogCursor&&) noexcept = default;
LogCursor& LogCursor::operator=(LogCursor&&) noexcept = default;
LogCursor::~LogCursor() = default;

LogOffset LogCursor::position() const { return inside_->at; }

void LogCursor::Seek(LogOffset offset) {
  inside_->segment = inside_->contents->Find(offset);
  inside_->at = offset;
}

LogCursor::Result LogCursor::Next(LogRecord& record, std::chrono::nanoseconds timeout) {
  Inside& in = *inside_;
  if (in.at >= in.segment.end) {
    if (!in.contents->WaitBeyond(in.at, timeout)) {
      return in.contents->closed() ? Result::kClosed : Result::kTimeout;
    }
    in.segment = in.contents->Find(in.at);
  }
  const FrameState state = in.reader.Read(in.segment, in.at, record);
  if (state != FrameState::kWhole) FailAtFrame(in.segment, in.at, state);
  in.at = record.next;
  return Result::kRecord;
}

}  // namespace catamaran

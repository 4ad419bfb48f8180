#include "catamaran/stream/log/log_reader.h"

#include "catamaran/stream/log/frame_reader.h"
#include "catamaran/stream/log/log_directory.h"

namespace catamaran {

std::unique_ptr<LogReader> LogReader::Open(const FileSystem& fs, const std::string& directory,
                                           LogOffset known) {
  std::unique_ptr<LogReader> reader(new LogReader);
  LookAtLog(fs, directory, [&](const FoundLog& found) {
    const LogTail tail = FindTail(fs, directory, found, known);
    reader->contents_ = std::make_shared<LogContents>(fs, directory, found.id);
    for (const FoundSegment& segment : found.segments) {
      if (segment.first > tail.end || !segment.problem.empty()) break;
      reader->contents_->AddSegment(segment.first, segment.head.newest_ns);
    }
    reader->contents_->SetEnd(tail.end);
    reader->contents_->Close();
    reader->bytes_beyond_ = tail.bytes_beyond;
    reader->damage_ = tail.damage;
  });
  return reader;
}

uint64_t LogReader::id() const { return contents_->id(); }
LogOffset LogReader::begin() const { return contents_->begin(); }
LogOffset LogReader::end() const { return contents_->end(); }
const std::string& LogReader::directory() const { return contents_->directory(); }

void LogReader::Read(LogOffset offset, std::vector<std::byte>& buffer, LogRecord& record) const {
  ReadRecord(*contents_, offset, buffer, record);
}

LogCursor LogReader::Scan(LogOffset from) const { return LogCursor(contents_, from); }

}  // namespace catamaran

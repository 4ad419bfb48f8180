#include "catamaran/stream/source/log_source.h"

#include <charconv>

namespace catamaran {
namespace {

class LogSource final : public Source {
 public:
  LogSource(LogCursor cursor, uint64_t id, std::function<LogOffset()> begin, std::string name)
      : cursor_(std::move(cursor)), id_(id), begin_(std::move(begin)), name_(std::move(name)) {}

  Result Next(StreamRecord& record, std::chrono::nanoseconds timeout) override {
    LogRecord read;
    switch (cursor_.Next(read, timeout)) {
      case LogCursor::Result::kTimeout:
        return Result::kTimeout;
      case LogCursor::Result::kClosed:
        return Result::kEnd;
      case LogCursor::Result::kRecord:
        break;
    }
    record = {read.type, read.time_ns, read.payload};
    return Result::kRecord;
  }

  Positions position() const override {
    return {{name_, fmt::format("{:016x}:{}", id_, cursor_.position())}};
  }

  void Seek(const Positions& positions) override {
    const auto found = positions.find(name_);
    if (found == positions.end()) return cursor_.Seek(begin_());
    const std::string& text = found->second;
    uint64_t id = 0;
    LogOffset offset = 0;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, id, 16);
    const bool colon = first.ec == std::errc() && first.ptr != end && *first.ptr == ':';
    const auto second = std::from_chars(colon ? first.ptr + 1 : end, end, offset);
    if (!colon || second.ec != std::errc() || second.ptr != end) {
      Fail("'{}' is not a position of a log ({})", text, name_);
    }
    if (id != id_) {
      Fail("'{}' is a position of another log: this one ({}) is {:016x}", text, name_, id_);
    }
    cursor_.Seek(offset);
  }

 private:
  LogCursor cursor_;
  const uint64_t id_;
  const std::function<LogOffset()> begin_;
  const std::string name_;
};

class LogSink final : public Sink {
 public:
  explicit LogSink(Log& log) : log_(log) {}

  void Put(const StreamRecord& record, Done done) override {
    log_.WhenDurable(log_.Append(record.type, record.time_ns, record.payload), std::move(done));
  }

 private:
  Log& log_;
};

}  // namespace

std::unique_ptr<Source> MakeLogSource(Log& log, std::string name) {
  return std::make_unique<LogSource>(
      log.Follow(log.begin()), log.id(), [&log] { return log.begin(); }, std::move(name));
}

std::unique_ptr<Source> MakeLogSource(const LogReader& log, std::string name) {
  return std::make_unique<LogSource>(
      log.Scan(log.begin()), log.id(), [&log] { return log.begin(); }, std::move(name));
}

std::unique_ptr<Sink> MakeLogSink(Log& log) { return std::make_unique<LogSink>(log); }

}  // namespace catamaran

// stream/log/log_contents.h
//
// What can be read of a log: its segments, where it ends, and waiting for more. The writer adds to
// it, any number of readers look at it, and it lives as long as the last of them.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/stream/log/log.h"

namespace catamaran {

// A segment as those see it who have looked it up. It stays readable when it is dropped meanwhile.
struct LogSegment {
  std::shared_ptr<const RandomReadFile> file;
  LogOffset first = 0;
  LogOffset end = 0;    // of what was there when it was looked up
  bool sealed = false;  // there will be no more

  // Fills `out` from `offset` on. REQUIRES: it lies within [first, end).
  void Read(LogOffset offset, std::span<std::byte> out) const;
};

class LogContents {
 public:
  LogContents(const FileSystem& fs, std::string directory, uint64_t id)
      : fs_(fs), directory_(std::move(directory)), id_(id) {}

  uint64_t id() const { return id_; }
  const std::string& directory() const { return directory_; }

  LogOffset begin() const;
  LogOffset end() const;
  uint64_t segments() const;
  // Of all files.
  uint64_t bytes() const;

  // The segment that holds the byte at `offset`, or the last one if that is end(). An Error if it
  // has been dropped or never was.
  LogSegment Find(LogOffset offset) const;

  // Returns true once end() > offset; false after `timeout`, or at once when closed.
  bool WaitBeyond(LogOffset offset, std::chrono::nanoseconds timeout) const;
  bool closed() const;

  // --- For the writer.
  // `newest_ns`: the largest time of a record before it.
  void AddSegment(LogOffset first, int64_t newest_ns);
  void SetEnd(LogOffset end);
  void Close();
  // The second segment: where it begins, and the largest time of a record before it. False if
  // there is only one.
  bool Second(LogOffset* first, int64_t* newest_ns) const;
  // REQUIRES: there is a second segment.
  void DropFirst();
  std::string FirstPath() const;

 private:
  struct Entry {
    LogOffset first;
    int64_t newest_ns;
    std::shared_ptr<const RandomReadFile> file;  // null: not open
  };

  std::string PathOf(LogOffset first) const;
  const std::shared_ptr<const RandomReadFile>& Open(Entry& entry) const;

  const FileSystem& fs_;
  const std::string directory_;
  const uint64_t id_;

  mutable std::mutex mutex_;
  mutable std::condition_variable more_;
  mutable std::deque<Entry> entries_;
  mutable std::deque<LogOffset> open_;  // firsts of open entries, the oldest first
  mutable int waiting_ = 0;
  LogOffset end_ = 0;
  bool closed_ = false;
};

}  // namespace catamaran

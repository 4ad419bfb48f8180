// stream/log/log_reader.h
//
// Reads a log without changing it and without its lock, as far as it went when it was opened: for
// replays and tools. A writer may go on meanwhile; what it drops cannot be read any more.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/stream/log/log.h"

namespace catamaran {

class LogReader {
 public:
  // An Error if there is no log, or segments are missing. `fs` outlives the reader and its cursors.
  // Whoever reads on from an earlier reader's end() passes it as `known`, so that it is quick.
  static std::unique_ptr<LogReader> Open(const FileSystem& fs, const std::string& directory,
                                         LogOffset known = 0);

  uint64_t id() const;
  LogOffset begin() const;
  LogOffset end() const;  // of the last whole record
  const std::string& directory() const;

  // Bytes behind end(): of a record that is being written, or was cut off.
  uint64_t bytes_beyond() const { return bytes_beyond_; }
  // What is wrong behind end(), where it is more than that; Log::Open refuses such a log.
  const std::string& damage() const { return damage_; }

  // As those of Log; the cursor gives what was there, and then kClosed.
  void Read(LogOffset offset, std::vector<std::byte>& buffer, LogRecord& record) const;
  LogCursor Scan(LogOffset from) const;

 private:
  LogReader() = default;

  std::shared_ptr<LogContents> contents_;
  uint64_t bytes_beyond_ = 0;
  std::string damage_;
};

}  // namespace catamaran

// stream/log/segment_writer.h
//
// Writes the newest segment of a log: appends frames, begins the next segment, and puts the file
// right after a write that was refused half-way.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/stream/log/log_format.h"
#include "catamaran/stream/log/log_syncer.h"

namespace catamaran {

class SegmentWriter {
 public:
  // Goes on at `end` in the segment that begins at `first`.
  SegmentWriter(FileSystem& fs, std::string directory, LogSyncer& syncer, LogOffset first,
                LogOffset end);

  // Adds the bytes at end(). LogFull if they cannot be written; then end() is as before.
  void Append(std::span<const std::byte> bytes);

  // Begins the segment that `head` describes, at end(), and tells the syncer. LogFull if that
  // cannot be; then the next call must be BeginSegment again.
  void BeginSegment(const log_format::SegmentHead& head);
  // The call before this was a BeginSegment that failed.
  bool must_begin() const { return must_begin_; }

  LogOffset first() const { return first_; }
  LogOffset end() const { return end_; }

 private:
  void PutRight();
  [[noreturn]] void Refuse(const Error& error) const;

  FileSystem& fs_;
  const std::string directory_;
  LogSyncer& syncer_;
  LogOffset first_, end_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
  bool wrong_ = false;  // the file may have bytes behind end_
  bool must_begin_ = false;
};

}  // namespace catamaran

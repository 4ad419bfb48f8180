// stream/log/frame_reader.h
//
// Reads records from a segment, checked. FrameReader keeps a window of the file, for reading
// forward; ReadFrameAt reads one.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "catamaran/stream/log/log_contents.h"

namespace catamaran {

enum class FrameState : uint8_t {
  kWhole,
  kCutOff,   // its bytes, as far as can be told, go beyond the end
  kDamaged,  // its bytes are not those of a record at this place
};

class FrameReader {
 public:
  explicit FrameReader(uint64_t id) : id_(id) {}

  // Looks at the record that begins at `at`, within `segment`; its payload is good until the next
  // call. `durable`, where asked for: all before it had been synced when the record was written.
  // REQUIRES: segment.first <= at < segment.end. The same segment's bytes do not change.
  FrameState Read(const LogSegment& segment, LogOffset at, LogRecord& record,
                  LogOffset* durable = nullptr);

  // The bytes [at, at + size) of the segment. REQUIRES: they are within it.
  std::span<const std::byte> Bytes(const LogSegment& segment, LogOffset at, size_t size);

 private:
  const uint64_t id_;
  std::vector<std::byte> window_;
  std::shared_ptr<const RandomReadFile> file_;  // that the window is of
  LogOffset begin_ = 0, end_ = 0;               // of what the window holds
};

// The same for one record anywhere; the payload lies in `buffer`.
FrameState ReadFrameAt(uint64_t id, const LogSegment& segment, LogOffset at,
                       std::vector<std::byte>& buffer, LogRecord& record);

// The record that begins at `offset`, or an Error.
void ReadRecord(const LogContents& contents, LogOffset offset, std::vector<std::byte>& buffer,
                LogRecord& record);

// Looks for whole records where there need not be any, byte by byte. Bytes that look like large
// records are costly to check; there is a limit to that for a search, in proportion to what is
// searched.
class FrameSearch {
 public:
  FrameSearch(uint64_t id, const LogSegment& segment) : segment_(segment), reader_(id) {}

  // The first whole record that begins at or behind `from`. False if there is none. An Error if
  // the limit is reached. `durable` as in FrameReader::Read.
  bool Next(LogOffset from, LogRecord& record, LogOffset* durable = nullptr);

 private:
  const LogSegment& segment_;
  FrameReader reader_;
  uint64_t effort_ = 0;
};

// An Error that says what is wrong with the record at `at`.
[[noreturn]] void FailAtFrame(const LogSegment& segment, LogOffset at, FrameState state);

}  // namespace catamaran

// stream/log/log_format.h
//
// The bytes of docs/formats/log.md: heads of segments, frames of records, names of files.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "catamaran/stream/log/log.h"

namespace catamaran::log_format {

inline constexpr char kMagic[8] = {'C', 'T', 'M', 'L', 'O', 'G', 'S', '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kHeadBytes = 64;   // of a segment
inline constexpr size_t kFrameBytes = 24;  // of a record, before its payload
// "further than can be said", in FrameHead::behind
inline constexpr uint32_t kFarBehind = UINT32_MAX;

// What a segment says of the log before it.
struct SegmentHead {
  uint64_t id = 0;        // of the log
  LogOffset first = 0;    // of its first record; also the file's name
  LogOffset durable = 0;  // all before it had been synced when the segment was begun
  int64_t newest_ns = 0;  // the largest time of a record before it; INT64_MIN: there was none
};

std::string StoreHead(const SegmentHead& head);
// An Error that begins with `path` if these are not the bytes of a head.
SegmentHead LoadHead(std::span<const std::byte> bytes, const std::string& path);

// What stands before a payload.
struct FrameHead {
  uint32_t checksum = 0;
  uint32_t payload_bytes = 0;
  int64_t time_ns = 0;
  uint32_t behind = 0;  // bytes before this record that had not been synced when it was written
  uint8_t type = 0;
};

// Writes a frame and the payload behind it to `out`, which has room for both.
void StoreFrame(uint64_t id, LogOffset offset, const FrameHead& head,
                std::span<const std::byte> payload, std::byte* out);
// Nothing if these kFrameBytes bytes can be no frame's.
std::optional<FrameHead> LoadFrameHead(const std::byte* bytes);
// Whether these bytes, a frame with its payload, are the record at `offset` of the log `id`.
bool FrameIsWhole(uint64_t id, LogOffset offset, std::span<const std::byte> frame);

constexpr LogOffset FrameEnd(LogOffset offset, const FrameHead& head) {
  return offset + kFrameBytes + head.payload_bytes;
}

// "00000000000000001234.log", and back.
std::string SegmentName(LogOffset first);
std::optional<LogOffset> ParseSegmentName(std::string_view name);

}  // namespace catamaran::log_format

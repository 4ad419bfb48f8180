#include "catamaran/stream/log/frame_reader.h"

#include <algorithm>

#include "catamaran/stream/log/log_format.h"

namespace catamaran {

using namespace log_format;

namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;
// Of a single record: most fit, and none costs two reads that need not.
constexpr size_t kFirstReadBytes = 2048;

// Bytes that a search checks in vain before it gives up.
constexpr uint64_t kLeastEffort = uint64_t{1} << 28;

void SetRecord(LogOffset at, const FrameHead& head, std::span<const std::byte> frame,
               LogRecord& record) {
  record.offset = at;
  record.next = FrameEnd(at, head);
  record.type = head.type;
  record.time_ns = head.time_ns;
  record.payload = frame.subspan(kFrameBytes);
}

}  // namespace

std::span<const std::byte> FrameReader::Bytes(const LogSegment& segment, LogOffset at,
                                              size_t size) {
  if (file_ != segment.file || at < begin_ || at + size > end_) {
    const size_t wanted =
        static_cast<size_t>(std::min<uint64_t>(std::max(size, kWindowBytes), segment.end - at));
    // A follower reads little at a time, into the same memory; that of a large record goes again.
    const size_t room = std::max(wanted, kWindowBytes);
    if (window_.size() < room || window_.size() > 4 * room) window_ = std::vector<std::byte>(room);
    begin_ = end_ = 0;
    file_ = segment.file;
    segment.Read(at, {window_.data(), wanted});
    begin_ = at;
    end_ = at + wanted;
  }
  return {window_.data() + (at - begin_), size};
}

FrameState FrameReader::Read(const LogSegment& segment, LogOffset at, LogRecord& record,
                             LogOffset* durable) {
  if (segment.end - at < kFrameBytes) return FrameState::kCutOff;
  const auto head = LoadFrameHead(Bytes(segment, at, kFrameBytes).data());
  if (!head) return FrameState::kDamaged;
  if (FrameEnd(at, *head) > segment.end) return FrameState::kCutOff;
  const auto frame = Bytes(segment, at, kFrameBytes + head->payload_bytes);
  if (!FrameIsWhole(id_, at, frame)) return FrameState::kDamaged;
  SetRecord(at, *head, frame, record);
  if (durable != nullptr) {
    *durable = head->behind == kFarBehind || head->behind > at ? 0 : at - head->behind;
  }
  return FrameState::kWhole;
}

FrameState ReadFrameAt(uint64_t id, const LogSegment& segment, LogOffset at,
                       std::vector<std::byte>& buffer, LogRecord& record) {
  const uint64_t there = segment.end - at;
  if (there < kFrameBytes) return FrameState::kCutOff;
  const size_t first = static_cast<size_t>(std::min<uint64_t>(there, kFirstReadBytes));
  if (buffer.size() < first) buffer.resize(first);
  segment.Read(at, {buffer.data(), first});
  const auto head = LoadFrameHead(buffer.data());
  if (!head) return FrameState::kDamaged;
  if (FrameEnd(at, *head) > segment.end) return FrameState::kCutOff;
  const size_t size = kFrameBytes + head->payload_bytes;
  if (size > first) {
    if (buffer.size() < size) buffer.resize(size);
    segment.Read(at + first, {buffer.data() + first, size - first});
  }
  const std::span<const std::byte> frame(buffer.data(), size);
  if (!FrameIsWhole(id, at, frame)) return FrameState::kDamaged;
  SetRecord(at, *head, frame, record);
  return FrameState::kWhole;
}

void ReadRecord(const LogContents& contents, LogOffset offset, std::vector<std::byte>& buffer,
                LogRecord& record) {
  const LogSegment segment = contents.Find(offset);
  const FrameState state = ReadFrameAt(contents.id(), segment, offset, buffer, record);
  if (state != FrameState::kWhole) FailAtFrame(segment, offset, state);
}

bool FrameSearch::Next(LogOffset from, LogRecord& record, LogOffset* durable) {
  for (LogOffset at = from; at < segment_.end; ++at) {
    if (reader_.Read(segment_, at, record, durable) == FrameState::kWhole) return true;
    if (segment_.end - at < kFrameBytes) return false;
    const auto head = LoadFrameHead(reader_.Bytes(segment_, at, kFrameBytes).data());
    if (head && FrameEnd(at, *head) <= segment_.end) effort_ += head->payload_bytes;
    if (effort_ > kLeastEffort + 64 * (segment_.end - segment_.first)) {
      Fail(ErrorCode::kStorage,
           "{}: what is behind offset {} looks like records and is none; it cannot be told what "
           "happened to it",
           segment_.file->path(), from);
    }
  }
  return false;
}

void FailAtFrame(const LogSegment& segment, LogOffset at, FrameState state) {
  Fail(ErrorCode::kStorage, "{}: {} at offset {} (byte {} of the file)", segment.file->path(),
       state == FrameState::kCutOff ? "there is no whole record"
                                    : "there is no record, or a damaged one,",
       at, kHeadBytes + (at - segment.first));
}

}  // namespace catamaran

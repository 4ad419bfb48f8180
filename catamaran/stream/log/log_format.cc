#include "catamaran/stream/log/log_format.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/unaligned.h"

namespace catamaran::log_format {
namespace {

using unaligned::Load;
using unaligned::Store;

static_assert(std::endian::native == std::endian::little, "logs are little-endian");

constexpr size_t kHeadChecksumAt = 60;
constexpr size_t kNameDigits = 20;
constexpr std::string_view kNameEnd = ".log";

// A record is only whole where it was written: its place is under its checksum.
uint32_t FrameChecksum(uint64_t id, LogOffset offset, std::span<const std::byte> frame) {
  std::byte place[16];
  Store(place, id);
  Store(place + 8, offset);
  return Crc32c(frame.subspan(4), Crc32c(place));
}

}  // namespace

std::string StoreHead(const SegmentHead& head) {
  std::string bytes(kHeadBytes, '\0');
  std::memcpy(bytes.data(), kMagic, sizeof(kMagic));
  Store(&bytes[8], kVersion);
  Store(&bytes[16], head.id);
  Store(&bytes[24], head.first);
  Store(&bytes[32], head.durable);
  Store(&bytes[40], head.newest_ns);
  Store(&bytes[kHeadChecksumAt], Crc32c(std::string_view(bytes).substr(0, kHeadChecksumAt)));
  return bytes;
}

SegmentHead LoadHead(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < kHeadBytes) {
    Fail(ErrorCode::kStorage, "{}: a segment of a log begins with {} bytes, and here are {}", path,
         kHeadBytes, bytes.size());
  }
  if (std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    Fail(ErrorCode::kStorage, "{}: this is not a segment of a log", path);
  }
  // The version first: another one may have its checksum elsewhere.
  if (const auto version = Load<uint32_t>(&bytes[8]); version != kVersion) {
    Fail(ErrorCode::kStorage, "{}: a log of version {}; this program knows version {}", path,
         version, kVersion);
  }
  if (Load<uint32_t>(&bytes[kHeadChecksumAt]) != Crc32c(bytes.first(kHeadChecksumAt))) {
    Fail(ErrorCode::kStorage, "{}: damaged: the checksum of its head is wrong", path);
  }
  SegmentHead head;
  head.id = Load<uint64_t>(&bytes[16]);
  head.first = Load<uint64_t>(&bytes[24]);
  head.durable = Load<uint64_t>(&bytes[32]);
  head.newest_ns = Load<int64_t>(&bytes[40]);
  if (head.durable > head.first)
    Fail(ErrorCode::kStorage, "{}: damaged: its head contradicts itself", path);
  return head;
}

void StoreFrame(uint64_t id, LogOffset offset, const FrameHead& head,
                std::span<const std::byte> payload, std::byte* out) {
  Store(out + 4, head.payload_bytes);
  Store(out + 8, head.time_ns);
  Store(out + 16, head.behind);
  Store(out + 20, uint32_t{head.type});
  if (!payload.empty()) std::memcpy(out + kFrameBytes, payload.data(), payload.size());
  Store(out, FrameChecksum(id, offset, {out, kFrameBytes + payload.size()}));
}

std::optional<FrameHead> LoadFrameHead(const std::byte* bytes) {
  const auto type = Load<uint32_t>(bytes + 20);
  FrameHead head;
  head.checksum = Load<uint32_t>(bytes);
  head.payload_bytes = Load<uint32_t>(bytes + 4);
  head.time_ns = Load<int64_t>(bytes + 8);
  head.behind = Load<uint32_t>(bytes + 16);
  head.type = static_cast<uint8_t>(type);
  if (type > UINT8_MAX || head.payload_bytes > kMaxLogPayload) return std::nullopt;
  return head;
}

bool FrameIsWhole(uint64_t id, LogOffset offset, std::span<const std::byte> frame) {
  return Load<uint32_t>(frame.data()) == FrameChecksum(id, offset, frame);
}

std::string SegmentName(LogOffset first) { return fmt::format("{:020}{}", first, kNameEnd); }

std::optional<LogOffset> ParseSegmentName(std::string_view name) {
  if (name.size() != kNameDigits + kNameEnd.size() || !name.ends_with(kNameEnd)) {
    return std::nullopt;
  }
  LogOffset first = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kNameDigits, first);
  if (error != std::errc() || end != name.data() + kNameDigits) return std::nullopt;
  return first;
}

}  // namespace catamaran::log_format

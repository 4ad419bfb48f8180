#include "catamaran/table/sketch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "catamaran/table/state_bytes.h"

namespace catamaran {
namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kLineBytes = 64;
constexpr int kRows = 4;  // counters of a key in a line, each in its own quarter

uint32_t CounterAt(const uint8_t* line, int bits, size_t i) {
  if (bits == 4) return line[i / 2] >> (i % 2 * 4) & 15u;
  if (bits == 8) return line[i];
  uint16_t value;
  std::memcpy(&value, line + 2 * i, sizeof(value));
  return value;
}

void SetCounter(uint8_t* line, int bits, size_t i, uint32_t value) {
  if (bits == 4) {
    const unsigned shift = i % 2 * 4;
    line[i / 2] = static_cast<uint8_t>((line[i / 2] & ~(15u << shift)) | value << shift);
  } else if (bits == 8) {
    line[i] = static_cast<uint8_t>(value);
  } else {
    const auto narrow = static_cast<uint16_t>(value);
    std::memcpy(line + 2 * i, &narrow, sizeof(narrow));
  }
}

}  // namespace

TableSketch::TableSketch(const TableConfig& config)
    : counter_bits_(config.admit.count <= 15    ? 4
                    : config.admit.count <= 255 ? 8
                                                : 16),
      count_(config.admit.count),
      window_(config.admit.window),
      buckets_(static_cast<size_t>(kTableBuckets)) {
  const auto share = static_cast<size_t>(config.admit.sketch_bytes) / buckets_.size() / 2;
  generation_bytes_ = share / kLineBytes * kLineBytes;
  CATAMARAN_CHECK(generation_bytes_ > 0);
  counters_.resize(generation_bytes_ * 2 * buckets_.size());
  const size_t counters = generation_bytes_ * 8 / static_cast<size_t>(counter_bits_);
  limit_ =
      static_cast<uint32_t>(std::min<size_t>(counters / (count_ < 3 ? 16 : 8), size_t{UINT32_MAX}));
}

int64_t TableSketch::bytes() const {
  return static_cast<int64_t>(counters_.size() + buckets_.size() * sizeof(Bucket));
}

void TableSketch::Rotate(size_t bucket) {
  Bucket& b = buckets_[bucket];
  b.newer ^= 1;
  b.counted = 0;
  std::memset(Generation(bucket, b.newer), 0, generation_bytes_);
}

void TableSketch::Age(size_t bucket, int64_t event_time) {
  Bucket& b = buckets_[bucket];
  if (window_ > 0) {
    const int64_t window = std::max<int64_t>(event_time, 0) / window_;
    if (window > b.window) {
      Rotate(bucket);
      if (window > b.window + 1) Rotate(bucket);
      b.window = window;
    }
  }
  if (b.counted >= limit_) Rotate(bucket);
}

int64_t TableSketch::Add(uint64_t hash, int64_t occurrences, int64_t event_time) {
  const auto bucket = static_cast<size_t>(BucketOf(hash));
  Age(bucket, event_time);
  Bucket& b = buckets_[bucket];
  // The bits below the bucket's choose the line, a scramble of all of them the counters.
  const size_t lines = generation_bytes_ / kLineBytes;
  const auto line =
      static_cast<size_t>(static_cast<unsigned __int128>(hash << kTableBucketBits) * lines >> 64);
  uint8_t* newer = Generation(bucket, b.newer) + line * kLineBytes;
  const uint8_t* older = Generation(bucket, b.newer ^ 1) + line * kLineBytes;
  const size_t per_row = kLineBytes * 8 / static_cast<size_t>(counter_bits_) / kRows;
  uint64_t choice = Mix64(hash);
  std::array<size_t, kRows> at;
  uint32_t in_newer = UINT32_MAX, in_older = UINT32_MAX;
  for (size_t r = 0; r < kRows; ++r) {
    at[r] = r * per_row + choice % per_row;
    choice >>= 16;
    in_newer = std::min(in_newer, CounterAt(newer, counter_bits_, at[r]));
    in_older = std::min(in_older, CounterAt(older, counter_bits_, at[r]));
  }
  const uint32_t most = (1u << counter_bits_) - 1;
  const auto raised = static_cast<uint32_t>(std::min<int64_t>(in_newer + occurrences, most));
  for (size_t i : at) {
    if (CounterAt(newer, counter_bits_, i) < raised) SetCounter(newer, counter_bits_, i, raised);
  }
  b.counted = static_cast<uint32_t>(
      std::min<int64_t>(int64_t{b.counted} + (raised - in_newer), int64_t{UINT32_MAX}));
  return std::min<int64_t>(int64_t{in_newer} + occurrences + in_older, count_);
}

std::string TableSketch::Save() const {
  StateWriter out;
  out.Put(kVersion);
  out.Put(static_cast<uint64_t>(counters_.size()));
  out.Put(static_cast<uint32_t>(counter_bits_));
  for (const Bucket& b : buckets_) {
    out.Put(b.window);
    out.Put(b.counted);
    out.Put(b.newer);
  }
  out.PutBytes(counters_.data(), counters_.size());
  return out.Take();
}

void TableSketch::Load(std::string_view bytes) {
  StateReader in("sketch", bytes);
  const auto version = in.Get<uint32_t>();
  if (version != kVersion)
    Fail(ErrorCode::kStorage, "table: the saved sketch has version {}, not {}", version, kVersion);
  const auto size = in.Get<uint64_t>();
  const auto bits = in.Get<uint32_t>();
  if (size != counters_.size() || bits != static_cast<uint32_t>(counter_bits_)) {
    Fail(
        "table: the saved sketch has {} bytes of counters of {} bits, and the table asks for {} of "
        "{}",
        size, bits, counters_.size(), counter_bits_);
  }
  for (Bucket& b : buckets_) {
    b.window = in.Get<int64_t>();
    b.counted = in.Get<uint32_t>();
    b.newer = in.Get<uint32_t>() & 1;
  }
  in.GetBytes(counters_.data(), counters_.size());
  in.End();
}

}  // namespace catamaran

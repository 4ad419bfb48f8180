// table/row_layout.h
//
// The words of a row, in memory, in files and in stores: a record. A record is a sequence of
// 32-bit little-endian words:
//
//   0        shows, f32
//   1        clicks, f32
//   2        last seen, u32, seconds of event time
//   3        in memory a sequence number (upper 24 bits); the feature, u8 (lower 8 bits)
//   4, 5     the key, low half first
//   6        waiting: occurrences so far, u32. Else, if the optimizer counts steps: updates, u32
//   …        the embedding: f32 words; or bf16, two a word; or an f32 scale and int8, four a word
//   …        the slots of the optimizer, f32, one after another
//
// Records come in three classes, which differ in how many columns they have.
//
// Thread safety: a RowLayout is immutable.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "catamaran/table/table_config.h"

namespace catamaran {

enum class RowClass : uint8_t {
  kWaiting,  // counted and not admitted: no columns
  kNarrow,   // one column, where the table lets rows grow
  kFull,
};
inline constexpr int kRowClasses = 3;

namespace row_words {
inline constexpr int kShow = 0;
inline constexpr int kClick = 1;
inline constexpr int kLastSeen = 2;
inline constexpr int kTag = 3;
inline constexpr int kKey = 4;
inline constexpr int kCount = 6;    // of a waiting row
inline constexpr int kUpdates = 6;  // of the others, if the optimizer counts
}  // namespace row_words

struct RowLayout {
  explicit RowLayout(const TableConfig& config);

  struct Class {
    int columns = 0;    // of the embedding
    int words = 0;      // of the whole record
    int embedding = 0;  // its first word
    int embedding_words = 0;
    int num_slots = 0;
    std::array<int, kMaxSlots> slot{};        // first word of each
    std::array<int, kMaxSlots> slot_words{};  // 1 for one a row, else `columns`
  };
  const Class& of(RowClass c) const { return classes[static_cast<size_t>(c)]; }
  size_t bytes(RowClass c) const { return static_cast<size_t>(of(c).words) * 4; }
  // Room for a record of any class.
  size_t max_words() const {
    return static_cast<size_t>(std::max({classes[0].words, classes[1].words, classes[2].words}));
  }

  std::array<Class, kRowClasses> classes;
  bool counts_updates = false;
};

// What a row counts for in `max_bytes`: its record and what an index needs, whatever the home.
inline constexpr int64_t kAccountedIndexBytes = 12;
inline int64_t AccountedBytes(const RowLayout& layout, RowClass c) {
  return static_cast<int64_t>(layout.bytes(c)) + kAccountedIndexBytes;
}

// --- Reading and writing a record that nobody else touches.

inline uint64_t RecordKey(const uint32_t* record) {
  return uint64_t{record[row_words::kKey]} | uint64_t{record[row_words::kKey + 1]} << 32;
}
inline void SetRecordKey(uint32_t* record, uint64_t key) {
  record[row_words::kKey] = static_cast<uint32_t>(key);
  record[row_words::kKey + 1] = static_cast<uint32_t>(key >> 32);
}
inline float RecordFloat(const uint32_t* record, int word) {
  float value;
  std::memcpy(&value, record + word, sizeof(value));
  return value;
}
inline void SetRecordFloat(uint32_t* record, int word, float value) {
  std::memcpy(record + word, &value, sizeof(value));
}
inline uint32_t RecordFeature(const uint32_t* record) { return record[row_words::kTag] & 0xff; }

// Seconds of event time as a record keeps them.
inline uint32_t LastSeenSeconds(int64_t event_time) {
  const int64_t seconds = event_time / kNanosecondsPerSecond;
  if (event_time < 0) return 0;
  return seconds > int64_t{UINT32_MAX} ? UINT32_MAX : static_cast<uint32_t>(seconds);
}

}  // namespace catamaran

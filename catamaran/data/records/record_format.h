// data/records/record_format.h
//
// The numbers of docs/formats/records.md that writer and reader share: where things are and how
// large they may be.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "catamaran/base/unaligned.h"

namespace catamaran::record_format {

static_assert(std::endian::native == std::endian::little, "record files are little-endian");

inline constexpr char kMagic[8] = {'C', 'T', 'M', 'R', 'E', 'C', 'S', '\n'};
inline constexpr char kEndMagic[8] = {'C', 'T', 'M', 'R', 'E', 'C', 'E', '\n'};
inline constexpr uint32_t kBlockMagic = 0x424d5443;  // "CTMB"
inline constexpr uint32_t kVersion = 1;

inline constexpr size_t kAlignment = 64;  // of every part of the file
inline constexpr size_t kHeadBytes = 64;
inline constexpr size_t kFooterBytes = 64;
inline constexpr size_t kBlockHeadBytes = 32;   // its fixed part
inline constexpr size_t kColumnBytes = 40;      // what a block's head says of a column
inline constexpr size_t kIndexEntryBytes = 32;  // of a block
inline constexpr size_t kStatsBytes = 64;       // of a column
inline constexpr size_t kStreamHeadBytes = 16;
inline constexpr size_t kStreamAlignment = 16;

// Limits, so that a few bytes of a damaged file cannot ask for all memory.
inline constexpr uint64_t kMaxSchemaBytes = uint64_t{1} << 26;
inline constexpr int64_t kMaxBlockRows = int64_t{1} << 20;
inline constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 30;  // in memory, all columns together

// How the numbers of a stream are kept.
enum class Encoding : uint8_t {
  kPlain = 1,       // floats, bytes: as they are
  kPacked = 2,      // ints, lengths: base + so many bits each
  kDelta = 3,       // ints: eight as they are, then the differences to the eighth before, packed
  kDictionary = 4,  // ints, floats, strings: distinct ones, then which, packed
  kIntegers = 5,    // floats that are integers: base + so many bits each
};

enum class Compression : uint8_t { kNone = 0, kZstd = 1 };

constexpr uint64_t AlignUp(uint64_t n, uint64_t alignment = kAlignment) {
  return (n + alignment - 1) / alignment * alignment;
}

using unaligned::Load;
using unaligned::Store;

}  // namespace catamaran::record_format

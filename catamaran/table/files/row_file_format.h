// table/files/row_file_format.h
//
// The numbers of docs/formats/table-rows.md that writer and reader share: where things are and how
// large they may be.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "catamaran/base/unaligned.h"
#include "catamaran/table/row_layout.h"

namespace catamaran {

// What an entry of a row file is made of.
enum class RecordKind : uint8_t {
  kTraining = 1,  // a record of row_layout.h
  kServing = 2,   // the key and the embedding alone
};

// Sections 0 to 2 are the rows of each class, by RowClass; then the deleted keys.
inline constexpr int kDeletedSection = kRowClasses;
inline constexpr int kRowSections = kRowClasses + 1;

// Where things are in an entry of each class.
struct RecordLayout {
  // `store` is how the numbers of entries for serving are kept; those for training are as `config`
  // says.
  RecordLayout(const TableConfig& config, RecordKind kind, RowStore store);

  struct Class {
    int words = 0;
    int embedding = 0;  // first word
    int columns = 0;
  };
  const Class& of(RowClass c) const { return classes[static_cast<size_t>(c)]; }

  std::array<Class, kRowClasses> classes;
  int key_word = 0;  // of the key's low half
};

namespace row_format {

static_assert(std::endian::native == std::endian::little, "row files are little-endian");

inline constexpr char kMagic[8] = {'C', 'T', 'M', 'R', 'O', 'W', 'S', '\n'};
inline constexpr char kEndMagic[8] = {'C', 'T', 'M', 'R', 'E', 'N', 'D', '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kBlockBytes = 65536;  // under one checksum
inline constexpr size_t kAlignment = 64;      // of every part of the file
inline constexpr size_t kHeadBytes = 64;
inline constexpr size_t kFooterBytes = 64;
inline constexpr size_t kRootOffset = 52;    // in the footer; of what is before it
inline constexpr size_t kSectionBytes = 64;  // what the directory says of a section
inline constexpr size_t kDirectoryBytes = 64 + kRowSections * kSectionBytes;  // its fixed part

// Of any record: the widest embedding with as many slots as wide.
inline constexpr size_t kMaxRecordWords = 16 + kMaxTableWidth * (1 + kMaxSlots);

inline constexpr int kMaxFanBits = 40;
inline constexpr int64_t kRowsPerPrefix = 8;  // about; between half of it and it

constexpr uint64_t AlignUp(uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// Fan-out tables have 2^bits + 1 entries.
constexpr int FanBits(int64_t count) {
  int bits = 0;
  while (bits < kMaxFanBits && (count >> bits) > kRowsPerPrefix) ++bits;
  return bits;
}
// Of one entry.
constexpr size_t FanEntryBytes(int64_t count) { return count <= int64_t{UINT32_MAX} ? 4 : 8; }
constexpr uint64_t FanPrefix(uint64_t hash, int bits) {
  return bits == 0 ? 0 : hash >> (64 - bits);
}

using unaligned::Load;
using unaligned::Store;

}  // namespace row_format

}  // namespace catamaran

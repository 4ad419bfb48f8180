// table/files/row_cursor.h
//
// Walks the entries of one section of a row file in ascending order of their hash. Blocks are
// checked, and asked of the disk, some way ahead; the memory of those that lie behind is given
// back.
//
// Thread safety: one thread at a time.

#pragma once

#include <algorithm>
#include <cstdint>

#include "catamaran/base/hash.h"
#include "catamaran/table/files/row_file.h"

namespace catamaran {

class RowCursor {
 public:
  // Entries with a hash in [first, last].
  RowCursor(const RowFile& file, int section, uint64_t first, uint64_t last)
      : file_(&file),
        section_(&file.section(section)),
        number_(section),
        seed_mix_(Mix64(file.config().seed)),
        last_(last) {
    if (section_->count == 0 || first > last) return;
    next_ = checked_ = file.LowerBound(section, first);
    Next();
  }

  bool done() const { return entry_ == nullptr; }
  // REQUIRES, of these: not done.
  uint64_t hash() const { return hash_; }
  uint64_t key() const { return row_format::Load<uint64_t>(entry_ + section_->key_offset); }
  const uint32_t* record() const { return reinterpret_cast<const uint32_t*>(entry_); }
  int section() const { return number_; }

  // To the next entry.
  void Next() {
    if (next_ == checked_ && !CheckMore()) {
      entry_ = nullptr;
      return;
    }
    entry_ = section_->data + next_ * int64_t{section_->stride};
    ++next_;
    hash_ = Mix64(key() ^ seed_mix_);
    if (hash_ > last_) entry_ = nullptr;
  }

 private:
  // Blocks are checked this far ahead, small enough to be in the cache still when they are read.
  static constexpr int64_t kChunkBytes = int64_t{128} << 10;
  static constexpr uint64_t kReadAhead = uint64_t{8} << 20;

  // Checks entries from checked_ on. False when there are none.
  bool CheckMore() {
    if (checked_ == section_->count) return false;
    const int64_t rows = std::max<int64_t>(1, chunk_ / int64_t{section_->stride});
    const int64_t end = std::min(section_->count, checked_ + rows);
    const uint64_t at = section_->offset + static_cast<uint64_t>(checked_) * section_->stride;
    // The first chunk is small, for scans of a few rows; who goes on reads ahead.
    if (chunk_ == kChunkBytes && at + kReadAhead / 2 > wanted_) {
      if (wanted_ == 0) wanted_ = behind_ = at;
      file_->file().WillNeed(wanted_, kReadAhead);
      file_->file().DoneWith(behind_, at - behind_);
      behind_ = at;
      wanted_ += kReadAhead;
    }
    chunk_ = kChunkBytes;
    file_->CheckEntries(number_, checked_, end);
    checked_ = end;
    return true;
  }

  const RowFile* file_;
  const RowFile::Section* section_;
  int number_;
  uint64_t seed_mix_;
  uint64_t last_;
  int64_t next_ = 0;     // entry
  int64_t checked_ = 0;  // entries below it have been checked
  int64_t chunk_ = 4096;
  uint64_t wanted_ = 0;  // bytes of the file below it have been asked for
  uint64_t behind_ = 0;  // bytes below it have been given back, from where the cursor began
  const std::byte* entry_ = nullptr;
  uint64_t hash_ = 0;
};

}  // namespace catamaran

// table/files/fan_out.h
//
// Where the entries of a section with a given prefix of their hash begin. Made while they go by.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/table/files/row_file_format.h"

namespace catamaran {

class FanOutBuilder {
 public:
  FanOutBuilder() : FanOutBuilder(0) {}
  explicit FanOutBuilder(int64_t about) : bits_(row_format::FanBits(about)) {}

  // REQUIRES: hashes ascend.
  void Add(uint64_t hash) {
    const uint64_t prefix = row_format::FanPrefix(hash, bits_);
    if (prefix >= next_) Begin(prefix);
    ++count_;
  }

  // After the last. Brings the table to the size that the true count calls for, if it is larger.
  void Finish() {
    Begin(uint64_t{1} << bits_);
    while (bits_ > row_format::FanBits(count_)) Fold();
  }

  int bits() const { return bits_; }
  int64_t count() const { return count_; }
  // The table as it is stored: 2^bits + 1 entries of FanEntryBytes(count).
  const void* data() const {
    return wide_.empty() ? static_cast<const void*>(narrow_.data()) : wide_.data();
  }
  size_t bytes() const { return ((size_t{1} << bits_) + 1) * row_format::FanEntryBytes(count_); }

 private:
  // All prefixes up to `prefix` that have not begun begin at the next entry.
  void Begin(uint64_t prefix) {
    if (wide_.empty() && count_ > int64_t{UINT32_MAX}) wide_.assign(narrow_.begin(), narrow_.end());
    const size_t more = static_cast<size_t>(prefix + 1 - next_);
    if (count_ > int64_t{UINT32_MAX}) {
      wide_.insert(wide_.end(), more, static_cast<uint64_t>(count_));
    } else {
      narrow_.insert(narrow_.end(), more, static_cast<uint32_t>(count_));
    }
    next_ = prefix + 1;
  }

  void Fold() {
    const auto fold = [](auto& table) {
      for (size_t i = 0; 2 * i < table.size(); ++i) table[i] = table[2 * i];
      table.resize(table.size() / 2 + 1);
    };
    wide_.empty() ? fold(narrow_) : fold(wide_);
    --bits_;
  }

  int bits_;
  int64_t count_ = 0;
  uint64_t next_ = 0;  // the first prefix that has not begun
  std::vector<uint32_t> narrow_;
  std::vector<uint64_t> wide_;  // instead, once there are too many entries
};

}  // namespace catamaran

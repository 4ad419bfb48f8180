// table/memory/row_handle.h
//
// Where a row lies in its shard: its class and its slot among the rows of that class. Handles of
// low slots are small numbers, so that an index can keep them in few bits: that of a row of the
// full width is twice its slot, of another class four times and an odd number.

#pragma once

#include <cstdint>

#include "catamaran/table/row_layout.h"

namespace catamaran {

class RowHandle {
 public:
  static constexpr int kMaxBits = 31;
  static constexpr uint32_t kMaxRows = 1u << 29;  // of one class in one shard

  constexpr RowHandle() = default;  // no row
  constexpr RowHandle(RowClass c, uint32_t index)
      : bits_(c == RowClass::kFull ? index << 1
                                   : index << 2 | (c == RowClass::kNarrow ? kNarrow : kWaiting)) {}
  static constexpr RowHandle FromBits(uint32_t bits) {
    RowHandle handle;
    handle.bits_ = bits;
    return handle;
  }

  // False for no row.
  constexpr bool IsFull() const { return (bits_ & 1) == 0; }
  // REQUIRES for these: it is a row.
  constexpr RowClass row_class() const {
    if (IsFull()) return RowClass::kFull;
    return (bits_ & 3) == kNarrow ? RowClass::kNarrow : RowClass::kWaiting;
  }
  constexpr uint32_t index() const { return IsFull() ? FullIndex() : bits_ >> 2; }
  // REQUIRES: IsFull().
  constexpr uint32_t FullIndex() const { return bits_ >> 1; }

  constexpr uint32_t bits() const { return bits_; }
  constexpr explicit operator bool() const { return bits_ != UINT32_MAX; }
  friend constexpr bool operator==(RowHandle a, RowHandle b) { return a.bits_ == b.bits_; }

 private:
  static constexpr uint32_t kNarrow = 1;
  static constexpr uint32_t kWaiting = 3;

  uint32_t bits_ = UINT32_MAX;
};

inline constexpr RowHandle kNoRow;
static_assert(RowHandle(RowClass::kWaiting, RowHandle::kMaxRows - 1).bits() >>
                  RowHandle::kMaxBits ==
              0);

}  // namespace catamaran

// table/memory/row_handle.h
//
// Where a row lies in its shard: its class and its slot among the rows of that class, in 32 bits.

#pragma once

#include <cstdint>

#include "catamaran/table/row_layout.h"

namespace catamaran {

class RowHandle {
 public:
  static constexpr int kIndexBits = 30;
  static constexpr uint32_t kMaxRows = 1u << kIndexBits;  // of one class in one shard

  constexpr RowHandle() = default;  // no row
  constexpr RowHandle(RowClass c, uint32_t index)
      : bits_(static_cast<uint32_t>(c) << kIndexBits | index) {}
  static constexpr RowHandle FromBits(uint32_t bits) {
    RowHandle handle;
    handle.bits_ = bits;
    return handle;
  }

  // REQUIRES for these: it is a row.
  constexpr RowClass row_class() const { return static_cast<RowClass>(bits_ >> kIndexBits); }
  constexpr bool IsOf(RowClass c) const {
    return (bits_ ^ static_cast<uint32_t>(c) << kIndexBits) < kMaxRows;
  }
  constexpr uint32_t index() const { return bits_ & (kMaxRows - 1); }

  constexpr uint32_t bits() const { return bits_; }
  constexpr explicit operator bool() const { return bits_ != UINT32_MAX; }
  friend constexpr bool operator==(RowHandle a, RowHandle b) { return a.bits_ == b.bits_; }

 private:
  uint32_t bits_ = UINT32_MAX;
};

inline constexpr RowHandle kNoRow;

}  // namespace catamaran

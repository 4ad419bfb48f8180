// table/cold/cold_counts.h
//
// How many records of a table are on disk and not in memory, by class. They are counted as rows
// move, because the store cannot tell: it keeps the records of rows that came back into memory
// until they leave it again, or go for good.
//
// Thread safety: one thread changes it, any number read; what they read may be a step apart.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "catamaran/table/row_layout.h"

namespace catamaran {

class ColdCounts {
 public:
  // `by` is 1 or -1.
  void Add(RowClass c, int64_t by) {
    Count& count = by_class_[static_cast<size_t>(c)];
    count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  int64_t of(RowClass c) const {
    return by_class_[static_cast<size_t>(c)].load(std::memory_order_relaxed);
  }
  // Rows: what is not waiting.
  int64_t rows() const { return of(RowClass::kNarrow) + of(RowClass::kFull); }
  int64_t records() const { return rows() + of(RowClass::kWaiting); }

  std::string Save() const;
  void Load(std::string_view bytes);

 private:
  using Count = std::atomic<int64_t>;
  std::array<Count, kRowClasses> by_class_{};
};

}  // namespace catamaran

// ops/row_sums.h
//
// The distinct keys of a sparse gradient, each with the sum of its rows: pooled look-ups are
// expanded, equal keys are added up in program order. The result of one thread's last call is
// kept for its next, so that the steady state allocates nothing.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "catamaran/tensor/rows_value.h"

namespace catamaran {

template <class T>
class RowSums {
 public:
  // The sums of `rows`. The reference is good until this thread's next call.
  // REQUIRES: rows.dtype == DTypeOf<T>.
  static const RowSums& Of(const RowsValue& rows) {
    thread_local RowSums sums;
    sums.Fill(rows);
    return sums;
  }

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  uint64_t key(int64_t i) const { return keys_[static_cast<size_t>(i)]; }  // rising
  const uint64_t* keys() const { return keys_.data(); }
  const T* row(int64_t i) const { return sums_.data() + i * width_; }

 private:
  struct Entry {
    uint64_t key;
    int64_t order;
    const T* row;
    T factor;
  };

  void Fill(const RowsValue& rows) {
    width_ = rows.width;
    entries_.clear();
    keys_.clear();
    ForEachRow<T>(rows, [&](uint64_t key, const T* row, T factor) {
      entries_.push_back({key, static_cast<int64_t>(entries_.size()), row, factor});
    });
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.order < b.order;
    });
    for (const Entry& e : entries_) {
      if (keys_.empty() || keys_.back() != e.key) keys_.push_back(e.key);
    }
    sums_.assign(keys_.size() * static_cast<size_t>(width_), T(0));
    int64_t at = -1;
    for (const Entry& e : entries_) {
      if (at < 0 || keys_[static_cast<size_t>(at)] != e.key) ++at;
      T* sum = sums_.data() + at * width_;
      for (int64_t i = 0; i < width_; ++i) sum[i] += e.row[i] * e.factor;
    }
  }

  int64_t width_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint64_t> keys_;
  std::vector<T> sums_;
};

}  // namespace catamaran

// ops/row_sums.h
//
// The distinct keys of a sparse gradient, each with the sum of its rows: pooled look-ups are
// expanded, equal keys are added up in program order. Memory is kept for the next call, so that the
// steady state allocates nothing.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "catamaran/tensor/rows_value.h"

namespace catamaran {

template <class T>
class RowSums {
 public:
  // The sums of `rows`, until this thread's next call. REQUIRES: rows.dtype == DTypeOf<T>.
  static const RowSums& Of(const RowsValue& rows) {
    thread_local RowSums sums;
    sums.Fill(rows);
    return sums;
  }
  // The same, kept in this object.
  void Fill(const RowsValue& rows) {
    width_ = rows.width;
    entries_.clear();
    places_.clear();
    keys_.clear();
    ForEachRow<T>(rows, [&](uint64_t key, const T* row, T factor) {
      places_.push_back({key, static_cast<int64_t>(entries_.size())});
      entries_.push_back({row, factor});
    });
    SortPlaces();
    const size_t width = static_cast<size_t>(width_);
    if (sums_.size() < places_.size() * width) sums_.resize(places_.size() * width);
    for (size_t i = 0; i < places_.size(); ++i) {
      const Entry& e = entries_[static_cast<size_t>(places_[i].entry)];
      if (keys_.empty() || keys_.back() != places_[i].key) {
        T* sum = sums_.data() + keys_.size() * width;
        for (int64_t k = 0; k < width_; ++k) sum[k] = T(0) + e.row[k] * e.factor;
        keys_.push_back(places_[i].key);
      } else {
        T* sum = sums_.data() + (keys_.size() - 1) * width;
        for (int64_t k = 0; k < width_; ++k) sum[k] += e.row[k] * e.factor;
      }
    }
  }

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  uint64_t key(int64_t i) const { return keys_[static_cast<size_t>(i)]; }  // rising
  const uint64_t* keys() const { return keys_.data(); }
  const T* row(int64_t i) const { return sums_.data() + i * width_; }

 private:
  struct Entry {
    const T* row;
    T factor;
  };
  struct Place {
    uint64_t key;
    int64_t entry;
  };

  // By key; equal ones stay in order. Digit by digit: a sort that compares costs five times as
  // much, for keys that are scattered.
  void SortPlaces() {
    constexpr int kBits = 11;
    constexpr size_t kDigits = size_t{1} << kBits;
    const auto by_key = [](const Place& a, const Place& b) { return a.key < b.key; };
    if (std::is_sorted(places_.begin(), places_.end(), by_key)) return;
    if (places_.size() < 128) {
      std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
        return a.key != b.key ? a.key < b.key : a.entry < b.entry;
      });
      return;
    }
    uint64_t all = 0, common = ~uint64_t{0};
    for (const Place& p : places_) all |= p.key, common &= p.key;
    const uint64_t varying = all ^ common;
    other_.resize(places_.size());
    for (int shift = 0; shift < 64; shift += kBits) {
      if (((varying >> shift) & (kDigits - 1)) == 0) continue;
      size_t ends[kDigits] = {};
      for (const Place& p : places_) ++ends[(p.key >> shift) & (kDigits - 1)];
      size_t begin = 0;
      for (size_t& end : ends) begin += std::exchange(end, begin);
      for (const Place& p : places_) other_[ends[(p.key >> shift) & (kDigits - 1)]++] = p;
      places_.swap(other_);
    }
  }

  int64_t width_ = 0;
  std::vector<Entry> entries_;         // in program order
  std::vector<Place> places_, other_;  // by key
  std::vector<uint64_t> keys_;
  std::vector<T> sums_;
};

}  // namespace catamaran

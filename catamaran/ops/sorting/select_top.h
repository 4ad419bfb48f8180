// ops/sorting/select_top.h
//
// The best k elements of one line. A buffer of entries (sorted_line.h) is filled with elements that
// are better than the k-th best so far, which vector code finds; when it is full, its best k
// stay and the bound rises.

#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "catamaran/ops/sorting/select_simd.h"
#include "catamaran/ops/sorting/sorted_line.h"

namespace catamaran {

template <class T>
class TopOfLine {
 public:
  using Entry = SortEntry<T>;

  static TopOfLine& OfThread() {
    thread_local TopOfLine top;
    return top;
  }

  // The best of x[0], x[step], …; falling keys where `largest`. REQUIRES: 0 < k <= n < 2^32.
  void Select(const SelectFunctions& f, const T* x, int64_t step, int64_t n, int64_t k,
              bool largest, bool sorted) {
    constexpr int64_t kMany = 8;  // 1 / kMany of the line is better found in all of it
    if (step != 1 || k > n / kMany) {
      entries_ = line_.Room(n);
      for (int64_t i = 0; i < n; ++i) {
        entries_[i] = Entry::Make(SortKey<T>::Of(x[i * step], largest), i);
      }
      Keep(n, k);
    } else {
      Scan(f, x, n, k, largest);
    }
    if (sorted) {
      std::sort(entries_, entries_ + k);
    } else {
      std::sort(entries_, entries_ + k,
                [](const Entry& a, const Entry& b) { return a.at() < b.at(); });
    }
  }

  int64_t at(int64_t i) const { return entries_[i].at(); }

 private:
  // The best k of n come first, in any order.
  void Keep(int64_t n, int64_t k) {
    if (k < n) std::nth_element(entries_, entries_ + k - 1, entries_ + n);
  }

  void Scan(const SelectFunctions& f, const T* x, int64_t n, int64_t k, bool largest) {
    const int64_t room = k + std::max<int64_t>(k, 16);
    entries_ = line_.Room(room);
    int64_t filled = 0;
    for (; filled < k; ++filled) {
      entries_[filled] = Entry::Make(SortKey<T>::Of(x[filled], largest), filled);
    }
    T bound = Bound(x, k);
    auto worst = entries_[k - 1].key();
    for (int64_t i = Next(f, x, k, n, bound, largest); i < n;
         i = Next(f, x, i + 1, n, bound, largest)) {
      const auto key = SortKey<T>::Of(x[i], largest);
      if (key >= worst) continue;
      entries_[filled++] = Entry::Make(key, i);
      if (filled < room) continue;
      filled = k;
      Keep(room, k);
      bound = Bound(x, k);
      worst = entries_[k - 1].key();
    }
    Keep(filled, k);
  }

  // The worst of the first k entries goes last; it is the bound.
  T Bound(const T* x, int64_t k) {
    std::iter_swap(std::max_element(entries_, entries_ + k), entries_ + k - 1);
    return x[entries_[k - 1].at()];
  }

  static int64_t Next(const SelectFunctions& f, const T* x, int64_t from, int64_t n, T bound,
                      bool largest) {
    if constexpr (std::is_same_v<T, float>) {
      return largest ? f.f32.above(x, from, n, bound) : f.f32.below(x, from, n, bound);
    } else if constexpr (std::is_same_v<T, double>) {
      return largest ? f.f64.above(x, from, n, bound) : f.f64.below(x, from, n, bound);
    } else if constexpr (std::is_same_v<T, int32_t>) {
      return largest ? f.i32.above(x, from, n, bound) : f.i32.below(x, from, n, bound);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      return largest ? f.i64.above(x, from, n, bound) : f.i64.below(x, from, n, bound);
    } else {
      while (from < n && !(largest ? x[from] > bound : x[from] < bound)) ++from;
      return from;
    }
  }

  SortedLine<T> line_;  // its memory
  Entry* entries_ = nullptr;
};

}  // namespace catamaran

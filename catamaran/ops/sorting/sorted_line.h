// ops/sorting/sorted_line.h
//
// Sorts one line of a tensor. Elements become unsigned keys of the same order; keys and positions
// are sorted together: short lines by counting (rank_simd.h) or comparing, long ones digit by
// digit. Memory is kept for the thread's next line, so that the steady state allocates nothing.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "catamaran/ops/sorting/rank_simd.h"

namespace catamaran {

// The key of a number: keys compare as the numbers do in this group (order.h).
template <class T>
struct SortKey {
  using Bits = std::conditional_t<(sizeof(T) <= 4), uint32_t, uint64_t>;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);

  static Bits Of(T v, bool descending) {
    Bits key;
    if constexpr (std::is_floating_point_v<T>) {
      const Bits bits = std::bit_cast<Bits>(v + T(0));  // -0 becomes 0
      const Bits flip =
          static_cast<Bits>(-static_cast<std::make_signed_t<Bits>>(bits >> (8 * sizeof(Bits) - 1)));
      key = v != v ? ~Bits{0} : bits ^ (flip | kSign);
    } else if constexpr (std::is_signed_v<T>) {
      key = static_cast<Bits>(static_cast<std::make_signed_t<Bits>>(v)) ^ kSign;
    } else {
      key = v;
    }
    return descending ? static_cast<Bits>(~key) : key;
  }
  // The number of a key; not of NaN and zero, of which several have one key.
  static bool Back(Bits key, bool descending, T* v) {
    if (descending) key = static_cast<Bits>(~key);
    if constexpr (std::is_floating_point_v<T>) {
      if (key == ~Bits{0} || key == kSign) return false;
      *v = std::bit_cast<T>(key & kSign ? key ^ kSign : static_cast<Bits>(~key));
    } else if constexpr (std::is_signed_v<T>) {
      *v = static_cast<T>(key ^ kSign);
    } else {
      *v = static_cast<T>(key);
    }
    return true;
  }
};

// A key with its position. Those of 32 bits share a word, so that they compare as one number.
struct NarrowEntry {
  using Key = uint32_t;
  uint64_t word;
  static NarrowEntry Make(uint32_t key, int64_t at) {
    return {uint64_t{key} << 32 | static_cast<uint64_t>(at)};
  }
  uint32_t key() const { return static_cast<uint32_t>(word >> 32); }
  int64_t at() const { return static_cast<int64_t>(word & 0xFFFFFFFFu); }
  friend bool operator<(const NarrowEntry& a, const NarrowEntry& b) { return a.word < b.word; }
};
struct WideEntry {
  using Key = uint64_t;
  uint64_t word;
  uint64_t position;
  static WideEntry Make(uint64_t key, int64_t at) { return {key, static_cast<uint64_t>(at)}; }
  uint64_t key() const { return word; }
  int64_t at() const { return static_cast<int64_t>(position); }
  friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.word != b.word ? a.word < b.word : a.position < b.position;
  }
};
template <class T>
using SortEntry = std::conditional_t<(sizeof(T) <= 4), NarrowEntry, WideEntry>;

// Sorts entries[0 … n) whose positions rise; `other` is as large. Returns where the result is.
NarrowEntry* SortEntries(NarrowEntry* entries, NarrowEntry* other, int64_t n);
WideEntry* SortEntries(WideEntry* entries, WideEntry* other, int64_t n);

// A sorted line. One a thread; its contents are good until the next Sort.
template <class T>
class SortedLine {
 public:
  using Entry = SortEntry<T>;
  using Key = typename Entry::Key;

  static SortedLine& OfThread() {
    thread_local SortedLine line;
    return line;
  }

  // Sorts x[0], x[step], … x[(n - 1) * step]. REQUIRES: n < 2^32.
  void Sort(const RankFunctions& f, const T* x, int64_t step, int64_t n, bool descending) {
    x_ = x;
    step_ = step;
    descending_ = descending;
    Entry* entries = Room(n);
    sorted_ = entries;
    if (n <= (sizeof(Key) == 4 ? f.most_32 : f.most_64)) return Rank(f, n, entries);
    for (int64_t k = 0; k < n; ++k) {
      entries[k] = Entry::Make(SortKey<T>::Of(x[k * step], descending), k);
    }
    sorted_ = SortEntries(entries, entries + n, n);
  }

  int64_t at(int64_t k) const { return sorted_[k].at(); }
  auto key(int64_t k) const { return sorted_[k].key(); }
  T value(int64_t k) const {
    T v;
    return SortKey<T>::Back(sorted_[k].key(), descending_, &v) ? v : x_[at(k) * step_];
  }

  // Memory for 2 n entries.
  Entry* Room(int64_t n) {
    if (static_cast<int64_t>(memory_.size()) < 2 * n) memory_.resize(static_cast<size_t>(2 * n));
    return memory_.data();
  }

 private:
  void Rank(const RankFunctions& f, int64_t n, Entry* entries) {
    alignas(64) Key keys[kMaxRanked + 16], ranks[kMaxRanked + 16];
    for (int64_t k = 0; k < n; ++k) keys[k] = SortKey<T>::Of(x_[k * step_], descending_);
    if constexpr (sizeof(Key) == 4) {
      f.rank_32(keys, ranks, n);
    } else {
      f.rank_64(keys, ranks, n);
    }
    for (int64_t k = 0; k < n; ++k) entries[ranks[k]] = Entry::Make(keys[k], k);
  }

  std::vector<Entry> memory_;
  const T* x_ = nullptr;
  int64_t step_ = 1;
  bool descending_ = false;
  const Entry* sorted_ = nullptr;
};

}  // namespace catamaran

// table/cold/row_cache.h
//
// Records that were read from the disk lately, in a bounded piece of memory: whoever only reads a
// table never makes a row move into it, and would read the same rows from the disk again and again.
//
// A cache in sets of a few records; a new one takes the place of one that nobody has asked for
// since it was last passed over. It never holds a record that is older than the store's: who reads
// the store takes a ticket first and hands it to Insert, which does nothing if the record was
// forgotten (because another was written) in between.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "catamaran/table/row_layout.h"

namespace catamaran {

class RowCache {
 public:
  // Of records of that layout; takes at most about that many bytes, as records come.
  RowCache(const RowLayout& layout, int64_t bytes);

  // Copies the record of a hash, if it is there.
  bool Find(uint64_t hash, RowClass* c, uint32_t* record) const;

  using Ticket = uint32_t;
  Ticket Take(uint64_t hash) const;
  void Insert(uint64_t hash, RowClass c, const uint32_t* record, Ticket ticket);

  // Call it after the store has another record of the hash, or none; or if none will ask for it.
  void Forget(uint64_t hash);

  // In use.
  int64_t bytes() const { return records_.load(std::memory_order_relaxed) * record_bytes_; }

 private:
  static constexpr size_t kWays = 8;
  static constexpr size_t kLocks = 64;
  static constexpr uint8_t kEmpty = kRowClasses;

  struct Set {
    Ticket ticket = 0;  // changes whenever a record of the set is forgotten
    uint8_t hand = 0;
    std::array<uint8_t, kWays> classes;
    mutable std::array<bool, kWays> asked{};
    std::array<uint64_t, kWays> hashes;
  };

  size_t SetOf(uint64_t hash) const {
    return static_cast<size_t>((hash & UINT32_MAX) * num_sets_ >> 32);
  }
  std::mutex& LockOf(size_t set) const { return locks_[set % kLocks]; }
  uint32_t* RecordAt(size_t set, size_t way) const {
    return words_.get() + (set * kWays + way) * record_words_;
  }
  // The way of a hash in its set, or kWays.
  static size_t WayOf(const Set& set, uint64_t hash);

  const RowLayout layout_;
  const size_t record_words_;
  const int64_t record_bytes_;  // with its part of a set
  const size_t num_sets_;
  std::unique_ptr<Set[]> sets_;
  std::unique_ptr<uint32_t[]> words_;  // not touched before there is a record
  mutable std::array<std::mutex, kLocks> locks_;
  std::atomic<int64_t> records_ = 0;
};

}  // namespace catamaran

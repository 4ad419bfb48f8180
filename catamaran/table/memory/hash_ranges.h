// table/memory/hash_ranges.h
//
// Things that have a hash, to be visited in the order of their hashes: they are put into ranges of
// the hash when they come, and a range is sorted when it is looked at. So no single piece of work
// is longer than a few hundred things, however many there are, and memory is given back range by
// range.
//
// Thread safety: one thread at a time.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace catamaran {

// T has a member `hash`. Hashes are spread evenly, but for their upper bits, which are all the
// same.
template <class T>
class HashRanges {
 public:
  HashRanges() = default;
  // For `count` things whose hashes have `shared_bits` bits in common.
  HashRanges(int64_t count, int shared_bits) : shared_bits_(shared_bits) {
    constexpr int64_t kPerRange = 512;
    bits_ = std::bit_width(static_cast<uint64_t>(count / kPerRange));
    ranges_.resize(size_t{1} << bits_);
    // Nearly none has more than that.
    room_ = static_cast<size_t>(count >> bits_) * 9 / 8 + 16;
  }

  size_t size() const { return ranges_.size(); }
  size_t RangeOf(uint64_t hash) const {
    return bits_ == 0 ? 0 : static_cast<size_t>(hash << shared_bits_ >> (64 - bits_));
  }

  // REQUIRES: its range has not been looked at.
  void Add(const T& thing) {
    std::vector<T>& things = ranges_[RangeOf(thing.hash)].things;
    if (things.capacity() == 0) things.reserve(room_);
    things.push_back(thing);
  }

  // Those of a range, in ascending order of hash.
  std::span<T> Sorted(size_t range) {
    Range& of = ranges_[range];
    if (!of.sorted) {
      std::sort(of.things.begin(), of.things.end(),
                [](const T& a, const T& b) { return a.hash < b.hash; });
      of.sorted = true;
    }
    return of.things;
  }
  // Those that have this hash. REQUIRES: size() > 0.
  std::span<T> Equal(uint64_t hash) {
    const std::span<T> things = Sorted(RangeOf(hash));
    const auto first = std::lower_bound(things.begin(), things.end(), hash,
                                        [](const T& thing, uint64_t h) { return thing.hash < h; });
    auto last = first;
    while (last != things.end() && last->hash == hash) ++last;
    return {first, last};
  }
  void Release(size_t range) { ranges_[range] = {}; }

 private:
  struct Range {
    std::vector<T> things;
    bool sorted = false;
  };
  int shared_bits_ = 0;
  int bits_ = 0;
  size_t room_ = 0;
  std::vector<Range> ranges_;
};

}  // namespace catamaran

// serve/learn/distribution_shift.h
//
// How far the distribution of a number has moved lately: the population stability index (PSI) of
// the newest block of so many numbers against the blocks before it, over the deciles of those. Of a
// block only a sample is kept, every nth number, so that it stays small. PSI below 0.1 is commonly
// called no change, above 0.25 a large one; of samples this size chance makes about 0.02.
//
// Numbers may be anything; NaN is a value of its own, and so are values that many share.
//
// Thread safety: none. It is a function of what was added.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catamaran {

// Of `now` against `before`, over the deciles of `before`; NaN if one of them is empty.
double StabilityIndex(std::vector<float> before, const std::vector<float>& now);

class DistributionShift {
 public:
  explicit DistributionShift(int64_t block);

  // True: a block is full, and index() is that of it.
  bool Add(float value);
  // Of the newest full block; NaN: there is no reference yet.
  double index() const { return index_; }

  void Save(std::string& bytes) const;
  // Takes its own part off the front; false if there is none.
  bool Load(std::string_view& bytes);

 private:
  int64_t block_, every_;
  int64_t count_ = 0;                       // in the block
  std::vector<float> sample_;               // of the block
  std::vector<std::vector<float>> before_;  // of the blocks before it, the oldest first
  double index_;
};

}  // namespace catamaran

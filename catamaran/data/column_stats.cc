#include "catamaran/data/column_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "catamaran/base/hash.h"

namespace catamaran {

int64_t DistinctCounter::Estimate() const {
  const double m = static_cast<double>(ranks_.size());
  double sum = 0;
  double empty = 0;
  for (uint8_t rank : ranks_) {
    sum += std::ldexp(1.0, -rank);
    empty += rank == 0 ? 1 : 0;
  }
  const double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
  // Few values leave registers empty, and how many of them is then the better measure.
  const double estimate = raw <= 2.5 * m && empty > 0 ? m * std::log(m / empty) : raw;
  return std::llround(estimate);
}

void ColumnStatsCollector::AddInt(int64_t value) {
  stats_.min_int = numbers_ == 0 ? value : std::min(stats_.min_int, value);
  stats_.max_int = numbers_ == 0 ? value : std::max(stats_.max_int, value);
  sum_ += static_cast<double>(value);
  ++numbers_;
  distinct_.Add(Mix64(static_cast<uint64_t>(value)));
}

void ColumnStatsCollector::AddLengths(const ColumnBlock& block, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<size_t>(r);
    const int64_t length = block.offsets[row + 1] - block.offsets[row];
    const bool first = stats_.rows == 0 && r == 0;
    stats_.min_length = first ? length : std::min(stats_.min_length, length);
    stats_.max_length = first ? length : std::max(stats_.max_length, length);
    stats_.missing += length == 0 ? 1 : 0;
  }
}

void ColumnStatsCollector::Add(const ColumnBlock& block, int64_t rows) {
  if (column_.has_offsets()) {
    AddLengths(block, rows);
  } else {
    stats_.min_length = stats_.max_length = column_.width();
  }
  stats_.rows += rows;
  if (column_.kind == ColumnKind::kString) {
    stats_.elements += static_cast<int64_t>(block.bytes.size());
    for (int64_t r = 0; r < rows; ++r) {
      if (!block.text(r).empty()) distinct_.Add(HashString(block.text(r)));
    }
    return;
  }
  if (column_.dtype == DType::kI64) {
    stats_.elements += static_cast<int64_t>(block.ints.size());
    for (int64_t value : block.ints) AddInt(value);
  } else if (column_.dtype == DType::kU8) {
    stats_.elements += static_cast<int64_t>(block.bytes.size());
    for (uint8_t value : block.bytes) AddInt(value);
  } else {
    stats_.elements += static_cast<int64_t>(block.floats.size());
    for (float value : block.floats) {
      if (std::isnan(value)) {
        ++stats_.missing;
        continue;
      }
      stats_.min = numbers_ == 0 ? value : std::min<double>(stats_.min, value);
      stats_.max = numbers_ == 0 ? value : std::max<double>(stats_.max, value);
      sum_ += value;
      ++numbers_;
      distinct_.Add(Mix64(std::bit_cast<uint32_t>(value)));
    }
  }
}

ColumnStats ColumnStatsCollector::Finish() const {
  ColumnStats stats = stats_;
  const bool measured = column_.kind == ColumnKind::kDense;
  if (measured && numbers_ > 0) stats.mean = sum_ / static_cast<double>(numbers_);
  stats.distinct = distinct_.Estimate();
  return stats;
}

}  // namespace catamaran

// serve/learn/distribution_shift.cc

#include "catamaran/serve/learn/distribution_shift.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catamaran/serve/learn/plain_bytes.h"

namespace catamaran {
namespace {

constexpr int64_t kSample = 512;  // of a block
constexpr size_t kBlocksBefore = 4;
constexpr int kParts = 10;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Counts by part: below the first edge, at it, between it and the next, …; NaN last.
std::vector<double> Count(const std::vector<float>& edges, const std::vector<float>& values) {
  std::vector<double> counts(2 * edges.size() + 2);
  for (const float value : values) {
    if (std::isnan(value)) {
      ++counts.back();
      continue;
    }
    const auto edge = std::lower_bound(edges.begin(), edges.end(), value);
    const bool at = edge != edges.end() && *edge == value;
    ++counts[2 * static_cast<size_t>(edge - edges.begin()) + (at ? 1 : 0)];
  }
  return counts;
}

}  // namespace

double StabilityIndex(std::vector<float> before, const std::vector<float>& now) {
  if (before.empty() || now.empty()) return kNaN;
  const auto known =
      std::partition(before.begin(), before.end(), [](float v) { return !std::isnan(v); });
  std::sort(before.begin(), known);
  const auto size = static_cast<size_t>(known - before.begin());
  std::vector<float> edges;
  for (size_t i = 1; i < kParts && size > 0; ++i) edges.push_back(before[size * i / kParts]);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const std::vector<double> was = Count(edges, before), is = Count(edges, now);
  // Half of one more in each part: a part that chance left empty is not infinitely far away.
  const double parts = static_cast<double>(was.size());
  double index = 0;
  for (size_t i = 0; i < was.size(); ++i) {
    const double p = (was[i] + 0.5) / (static_cast<double>(before.size()) + 0.5 * parts);
    const double q = (is[i] + 0.5) / (static_cast<double>(now.size()) + 0.5 * parts);
    index += (q - p) * std::log(q / p);
  }
  return index;
}

DistributionShift::DistributionShift(int64_t block)
    : block_(block), every_(std::max<int64_t>(1, block / kSample)), index_(kNaN) {}

bool DistributionShift::Add(float value) {
  if (count_ % every_ == 0 && sample_.size() < kSample) sample_.push_back(value);
  if (++count_ < block_) return false;
  if (before_.size() == kBlocksBefore) {
    std::vector<float> reference;
    for (const auto& sample : before_) {
      reference.insert(reference.end(), sample.begin(), sample.end());
    }
    index_ = StabilityIndex(std::move(reference), sample_);
    before_.erase(before_.begin());
  }
  before_.push_back(std::move(sample_));
  sample_ = {};
  count_ = 0;
  return true;
}

void DistributionShift::Save(std::string& bytes) const {
  AppendPlain(bytes, count_);
  AppendPlain(bytes, index_);
  AppendPlain(bytes, static_cast<uint64_t>(before_.size()));
  const auto append = [&](const std::vector<float>& sample) {
    AppendPlain(bytes, static_cast<uint64_t>(sample.size()));
    for (const float value : sample) AppendPlain(bytes, value);
  };
  for (const auto& sample : before_) append(sample);
  append(sample_);
}

bool DistributionShift::Load(std::string_view& bytes) {
  int64_t count = 0;
  double index = 0;
  uint64_t blocks = 0;
  if (!TakePlain(bytes, count) || !TakePlain(bytes, index) || !TakePlain(bytes, blocks)) {
    return false;
  }
  if (count < 0 || count >= block_ || blocks > kBlocksBefore) return false;
  std::vector<std::vector<float>> samples(blocks + 1);
  for (auto& sample : samples) {
    uint64_t size = 0;
    if (!TakePlain(bytes, size) || size > static_cast<uint64_t>(kSample)) return false;
    sample.resize(size);
    for (float& value : sample) {
      if (!TakePlain(bytes, value)) return false;
    }
  }
  count_ = count;
  index_ = index;
  sample_ = std::move(samples.back());
  samples.pop_back();
  before_ = std::move(samples);
  return true;
}

}  // namespace catamaran

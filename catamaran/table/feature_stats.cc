#include "catamaran/table/feature_stats.h"

#include "catamaran/table/state_bytes.h"

namespace catamaran {
namespace {

// Of what belongs to a number each: `one` for each of num_keys, or the sum of all keys' values.
double SumOf(const TableObservation& o, const float* values, bool for_all, double one) {
  const auto keys = static_cast<double>(o.num_keys);
  if (values == nullptr) return one * keys;
  if (for_all) return static_cast<double>(values[0]) * keys;
  double sum = 0;
  if (o.offsets != nullptr) {
    for (int64_t g = 0; g < o.num_groups; ++g) {
      sum += static_cast<double>(values[g]) * static_cast<double>(o.offsets[g + 1] - o.offsets[g]);
    }
  } else {
    const int64_t groups = o.keys_per_group > 0 ? o.num_keys / o.keys_per_group : 0;
    for (int64_t g = 0; g < groups; ++g) sum += static_cast<double>(values[g]);
    sum *= static_cast<double>(o.keys_per_group);
  }
  return sum;
}

}  // namespace

FeatureStats::FeatureStats(const RowRules& rules)
    : rules_(rules), names_(rules.config().features), sums_(names_.size()) {}

void FeatureStats::Count(const TableStep& step) {
  if (sums_.empty()) return;
  std::lock_guard lock(mutex_);
  const auto of = [&](int given, uint64_t salt) -> Sums* {
    const int feature = rules_.FeatureOf(given, salt);
    return feature < 1 || feature > static_cast<int>(sums_.size())
               ? nullptr
               : &sums_[static_cast<size_t>(feature - 1)];
  };
  for (const TableObservation& o : step.observations) {
    Sums* sums = of(o.feature, o.salt);
    if (sums == nullptr) continue;
    sums->occurrences += o.num_keys;
    sums->shows += SumOf(o, o.show, o.show_for_all, 1);
    sums->clicks += SumOf(o, o.click, o.click_for_all, 0);
  }
  if (!step.observations.empty()) return;
  for (const TablePush& push : step.pushes) {
    for (const RowsSegment& segment : push.rows->segments) {
      if (Sums* sums = of(segment.feature, segment.salt)) sums->occurrences += segment.num_keys;
    }
  }
}

std::vector<FeatureInfo> FeatureStats::Info(std::span<const int64_t> rows) const {
  std::lock_guard lock(mutex_);
  std::vector<FeatureInfo> out;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const int64_t count = i + 1 < rows.size() ? rows[i + 1] : 0;
    out.push_back({names_[i], count, sums_[i].occurrences, sums_[i].shows, sums_[i].clicks});
  }
  return out;
}

std::string FeatureStats::Save() const {
  std::lock_guard lock(mutex_);
  StateWriter out;
  out.Put(static_cast<uint32_t>(sums_.size()));
  for (size_t i = 0; i < sums_.size(); ++i) {
    out.Put(static_cast<uint32_t>(names_[i].size()));
    out.PutBytes(names_[i].data(), names_[i].size());
    out.Put(sums_[i].occurrences);
    out.Put(sums_[i].shows);
    out.Put(sums_[i].clicks);
  }
  return out.Take();
}

void FeatureStats::Load(std::string_view bytes) {
  StateReader in("features", bytes);
  const auto count = in.Get<uint32_t>();
  if (count > names_.size()) {
    Fail("table: the saved state has {} features, and the table declares {}", count, names_.size());
  }
  std::vector<Sums> sums(names_.size());
  for (size_t i = 0; i < count; ++i) {
    std::string name = in.GetString(in.Get<uint32_t>());
    if (name != names_[i]) {
      Fail("table: feature {} is {} in the saved state and {} in the table; new features go last",
           i + 1, name, names_[i]);
    }
    sums[i].occurrences = in.Get<int64_t>();
    sums[i].shows = in.Get<double>();
    sums[i].clicks = in.Get<double>();
  }
  in.End();
  std::lock_guard lock(mutex_);
  sums_ = std::move(sums);
}

}  // namespace catamaran

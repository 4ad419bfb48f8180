// serve/model/feature_monitor.cc

#include "catamaran/serve/model/feature_monitor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace catamaran {
namespace {

// Whether one of them is NaN or infinite: its exponent is all ones.
template <class T>
bool HasNotFinite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kExponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  constexpr size_t kAtOnce = 8;
  std::array<Bits, kAtOnce> found = {};
  const auto look = [&](size_t i, Bits& to) {
    to |= (std::bit_cast<Bits>(values[i]) & kExponent) == kExponent ? 1 : 0;
  };
  size_t i = 0;
  for (; i + kAtOnce <= values.size(); i += kAtOnce) {
    for (size_t k = 0; k < kAtOnce; ++k) look(i + k, found[k]);
  }
  for (; i < values.size(); ++i) look(i, found[0]);
  return std::any_of(found.begin(), found.end(), [](Bits bits) { return bits != 0; });
}

// Rows of a tensor with something that is not finite: one look at all, and a second only where
// there is something to find.
template <class T>
FeatureCount CountRows(const Tensor& tensor) {
  const std::span<const T> values = tensor.data<T>();
  FeatureCount count;
  count.rows = tensor.shape().rank() > 0 ? tensor.shape()[0] : 1;
  if (count.rows == 0 || !HasNotFinite(values)) return count;
  const size_t width = values.size() / static_cast<size_t>(count.rows);
  for (size_t begin = 0; begin < values.size(); begin += width) {
    bool missing = false, outside = false;
    for (const T value : values.subspan(begin, width)) {
      missing |= std::isnan(value);
      outside |= std::isinf(value);
    }
    count.missing += missing ? 1 : 0;
    count.outside += outside ? 1 : 0;
  }
  return count;
}

int64_t SlotOf(FeatureMonitor::TimePoint now, int64_t slots) {
  const auto length = std::chrono::nanoseconds(FeatureMonitor::kWindow) / slots;
  return now.time_since_epoch() / length;
}

}  // namespace

FeatureMonitor::FeatureMonitor(Metrics& metrics, const std::string& model,
                               const std::string& version,
                               const std::vector<std::string>& row_features,
                               const Signature& signature) {
  const Metrics::Labels labels = {{"model", model}, {"version", version}};
  for (const std::string& name : row_features) {
    row_features_.push_back(Find(metrics, labels, name));
  }
  for (size_t i = 0; i < signature.inputs().size(); ++i) {
    const Type& type = signature.inputs()[i].type;
    const DType dtype = type.dtype();
    if (type.is_ragged() || (dtype != DType::kF32 && dtype != DType::kF64)) continue;
    arguments_.push_back({i, Find(metrics, labels, signature.inputs()[i].name)});
  }
}

size_t FeatureMonitor::Find(Metrics& metrics, const Metrics::Labels& labels,
                            const std::string& name) {
  for (size_t i = 0; i < features_.size(); ++i) {
    if (features_[i].name == name) return i;
  }
  Metrics::Labels with_feature = labels;
  with_feature.emplace_back("feature", name);
  const auto counter = [&](const char* metric, const char* help) {
    return metrics.AddCounter(metric, help, with_feature);
  };
  features_.push_back(
      {name,
       counter("catamaran_feature_rows_total", "Rows of requests that could have the feature."),
       counter("catamaran_feature_missing_total", "Rows that lacked it: absent, empty or NaN."),
       counter("catamaran_feature_out_of_range_total",
               "Rows that had it outside of what is known of it."),
       {}});
  return features_.size() - 1;
}

size_t FeatureMonitor::Turn(TimePoint now) const {
  const int64_t slot = SlotOf(now, kSlots);
  // Slots that nobody was there for are empty.
  for (int64_t s = std::max(newest_ + 1, slot - kSlots + 1); s <= slot; ++s) {
    for (Feature& feature : features_) feature.slots[static_cast<size_t>(s % kSlots)] = {};
  }
  newest_ = std::max(newest_, slot);
  return static_cast<size_t>(newest_ % kSlots);
}

void FeatureMonitor::Add(size_t feature, size_t slot, const FeatureCount& count) {
  Feature& to = features_[feature];
  to.rows->Add(static_cast<uint64_t>(count.rows));
  if (count.missing > 0) to.missing->Add(static_cast<uint64_t>(count.missing));
  if (count.outside > 0) to.outside->Add(static_cast<uint64_t>(count.outside));
  FeatureCount& lately = to.slots[slot];
  lately.rows += count.rows;
  lately.missing += count.missing;
  lately.outside += count.outside;
}

void FeatureMonitor::AddRows(std::span<const FeatureCount> counts, TimePoint now) {
  if (counts.empty()) return;
  const std::lock_guard lock(mutex_);
  const size_t slot = Turn(now);
  for (size_t i = 0; i < counts.size(); ++i) Add(row_features_[i], slot, counts[i]);
}

void FeatureMonitor::AddTensors(const BoundInputs& inputs, TimePoint now) {
  if (arguments_.empty()) return;
  std::vector<FeatureCount> counts;
  for (const Argument& argument : arguments_) {
    const Tensor& tensor = inputs.arguments[argument.argument].values;
    counts.push_back(tensor.dtype() == DType::kF32 ? CountRows<float>(tensor)
                                                   : CountRows<double>(tensor));
  }
  const std::lock_guard lock(mutex_);
  const size_t slot = Turn(now);
  for (size_t i = 0; i < counts.size(); ++i) Add(arguments_[i].feature, slot, counts[i]);
}

std::vector<FeatureRates> FeatureMonitor::Rates(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  Turn(now);
  std::vector<FeatureRates> rates;
  for (const Feature& feature : features_) {
    FeatureRates& of = rates.emplace_back();
    of.name = feature.name;
    for (const FeatureCount& count : feature.slots) {
      of.rows += count.rows;
      of.missing += count.missing;
      of.outside += count.outside;
    }
  }
  return rates;
}

}  // namespace catamaran

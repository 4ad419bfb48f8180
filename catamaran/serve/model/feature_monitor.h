// serve/model/feature_monitor.h
//
// Counts, feature by feature, the rows of requests that lack it or have it out of range: over the
// last minutes, for those who look, and since the model was loaded, for Prometheus. Whoever binds
// requests counts into a FeatureCounts of its own and hands that over once a request.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "catamaran/serve/feature_rates.h"
#include "catamaran/serve/metrics.h"
#include "catamaran/serve/model/signature.h"

namespace catamaran {

// Of one request, of one feature.
struct FeatureCount {
  int64_t rows = 0, missing = 0, outside = 0;
};

class FeatureMonitor {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kWindow{5};

  // Features of JSON rows, then those arguments that are numbers. A name that is in both is one.
  FeatureMonitor(Metrics& metrics, const std::string& model, const std::string& version,
                 const std::vector<std::string>& row_features, const Signature& signature);

  // By the row features that it was made with.
  void AddRows(std::span<const FeatureCount> counts,
               TimePoint now = std::chrono::steady_clock::now());
  // Looks for NaN (missing) and infinities (outside).
  void AddTensors(const BoundInputs& inputs, TimePoint now = std::chrono::steady_clock::now());

  // Over about the last kWindow.
  std::vector<FeatureRates> Rates(TimePoint now = std::chrono::steady_clock::now()) const;

 private:
  static constexpr int64_t kSlots = 10;
  struct Feature {
    std::string name;
    std::shared_ptr<Counter> rows, missing, outside;
    std::array<FeatureCount, kSlots> slots;
  };
  struct Argument {
    size_t argument = 0, feature = 0;
  };
  size_t Find(Metrics& metrics, const Metrics::Labels& labels, const std::string& name);
  // Makes the slot of now the current one, empty if it was not.
  size_t Turn(TimePoint now) const;
  void Add(size_t feature, size_t slot, const FeatureCount& count);

  std::vector<size_t> row_features_;
  std::vector<Argument> arguments_;
  mutable std::mutex mutex_;
  mutable std::vector<Feature> features_;
  mutable int64_t newest_ = 0;  // number of the newest slot since the clock began
};

}  // namespace catamaran

// serve/learn/drift_monitor.h
//
// The drift alarm: whether what a model learns from has changed lately. It hears of each example
// when it is learned from (the prediction that was made before, the label, the numbers among the
// features), and watches
//
//   the loss          whether its mean rose (adaptive_window.h)
//   the calibration   whether the mean of prediction minus label moved away from 0 (the same)
//   the predictions   whether their distribution moved (distribution_shift.h)
//   the features      the same, for each number
//
// A change raises the alarm, which stays until `window` examples came without another one.
//
// It is a function of the examples in their order: recovery comes to the same as if nothing had
// happened. It is saved with commits. A rollback does not take it back.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/serve/learn/adaptive_window.h"
#include "catamaran/serve/learn/distribution_shift.h"
#include "catamaran/serve/learning.h"

namespace catamaran {

struct DriftSettings {
  bool on = true;
  int64_t window = 5000;      // examples that are lately
  double change = 0.05;       // of the loss, as a part of it; of the calibration. Less is none
  double psi = 0.2;           // of predictions and features; less is none
  int64_t max_features = 32;  // numbers among the features that are watched, the first ones
  friend bool operator==(const DriftSettings&, const DriftSettings&) = default;
};

class DriftMonitor {
 public:
  // `features` are the names of the numbers that each example has.
  DriftMonitor(const DriftSettings& settings, const std::vector<std::string>& features);

  bool on() const { return settings_.on; }
  size_t num_features() const { return features_.size(); }

  // A NaN prediction is none. REQUIRES: features.size() == num_features().
  void Add(float prediction, float label, std::span<const float> features);

  LearningDrift Values() const;

  std::string Save() const;
  // Of other settings, or nothing that can be read: it begins anew.
  void Load(std::string_view bytes);

 private:
  enum Cause : uint8_t { kLoss, kCalibration, kPredictions, kFeatures, kCauses };
  struct Feature {
    std::string name;
    DistributionShift shift;
  };
  void Found(Cause cause, std::string what);
  bool Active(size_t cause) const;
  bool AlarmLocked() const;
  void Reset();

  const DriftSettings settings_;
  const uint64_t identity_;  // of settings and features
  mutable std::mutex mutex_;
  int64_t examples_ = 0;
  int64_t alarms_ = 0;
  double label_mean_ = 0;
  AdaptiveWindow loss_, bias_;
  DistributionShift predictions_;
  std::deque<Feature> features_;
  std::array<int64_t, kCauses> found_at_;  // in examples; negative: never
  std::array<std::string, kCauses> what_;  // was found then
};

}  // namespace catamaran

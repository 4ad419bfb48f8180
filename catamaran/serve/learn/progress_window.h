// serve/learn/progress_window.h
//
// Progressive validation: the predictions that were made for the last examples before their labels
// were known, against those labels.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/serve/learning.h"

namespace catamaran {

class ProgressWindow {
 public:
  explicit ProgressWindow(int64_t examples) : size_(static_cast<size_t>(examples)) {}

  // NaN predictions are left out.
  void Add(float prediction, float label, float weight);
  // Metrics that make no sense (labels that are no probabilities, only one kind of them) are NaN.
  LearningWindow Values() const;

  std::string Save() const;
  // What cannot be read is left out: this is a measurement, and nothing else depends on it.
  void Load(std::string_view bytes);

 private:
  struct One {
    float prediction = 0, label = 0, weight = 0;
  };
  void AddLocked(const One& one);

  const size_t size_;
  mutable std::mutex mutex_;
  std::vector<One> ring_;
  size_t next_ = 0;
};

// The newest durations, for percentiles.
class RecentDurations {
 public:
  void Add(int64_t ns);
  // In seconds; 0 if there are none. `fraction` 0.99: of 100 durations 99 are no longer.
  double Percentile(double fraction) const;
  int64_t count() const;

 private:
  static constexpr size_t kKept = 4096;
  mutable std::mutex mutex_;
  std::vector<int64_t> ring_;
  int64_t count_ = 0;
};

}  // namespace catamaran

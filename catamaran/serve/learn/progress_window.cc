// serve/learn/progress_window.cc

#include "catamaran/serve/learn/progress_window.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "catamaran/train/metrics.h"

namespace catamaran {

void ProgressWindow::AddLocked(const One& one) {
  if (ring_.size() < size_) {
    ring_.push_back(one);
  } else {
    ring_[next_] = one;
  }
  next_ = (next_ + 1) % size_;
}

void ProgressWindow::Add(float prediction, float label, float weight) {
  if (std::isnan(prediction)) return;
  const std::lock_guard lock(mutex_);
  AddLocked({prediction, label, weight});
}

LearningWindow ProgressWindow::Values() const {
  std::vector<One> ring;
  {
    const std::lock_guard lock(mutex_);
    ring = ring_;
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  LearningWindow window;
  window.examples = static_cast<int64_t>(ring.size());
  window.auc = window.log_loss = window.calibration = kNaN;
  if (ring.empty()) return window;
  std::vector<float> predictions, labels, weights;
  double weight = 0, predicted = 0, labelled = 0, loss = 0;
  bool probabilities = true;
  for (const One& one : ring) {
    predictions.push_back(one.prediction);
    labels.push_back(one.label);
    weights.push_back(one.weight);
    probabilities = probabilities && one.label >= 0 && one.label <= 1 && one.prediction >= 0 &&
                    one.prediction <= 1;
    weight += one.weight;
    predicted += double{one.weight} * one.prediction;
    labelled += double{one.weight} * one.label;
    const double p = std::clamp(double{one.prediction}, 1e-15, 1 - 1e-15);
    loss -= one.weight * (one.label * std::log(p) + (1 - one.label) * std::log(1 - p));
  }
  if (labelled > 0) window.calibration = predicted / labelled;
  if (!probabilities || weight <= 0) return window;
  window.log_loss = loss / weight;
  window.auc = ExactAuc(predictions, labels, weights);
  return window;
}

std::string ProgressWindow::Save() const {
  const std::lock_guard lock(mutex_);
  std::string bytes;
  // Oldest first.
  for (size_t i = 0; i < ring_.size(); ++i) {
    const One& one = ring_[(ring_.size() < size_ ? i : (next_ + i) % size_)];
    bytes.append(reinterpret_cast<const char*>(&one), sizeof(one));
  }
  return bytes;
}

void ProgressWindow::Load(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  ring_.clear();
  next_ = 0;
  for (; bytes.size() >= sizeof(One); bytes.remove_prefix(sizeof(One))) {
    One one;
    std::memcpy(&one, bytes.data(), sizeof(one));
    if (std::isfinite(one.prediction) && std::isfinite(one.label) && one.weight >= 0) {
      AddLocked(one);
    }
  }
}

void RecentDurations::Add(int64_t ns) {
  const std::lock_guard lock(mutex_);
  if (ring_.size() < kKept) {
    ring_.push_back(ns);
  } else {
    ring_[static_cast<size_t>(count_) % kKept] = ns;
  }
  ++count_;
}

double RecentDurations::Percentile(double fraction) const {
  std::vector<int64_t> sorted;
  {
    const std::lock_guard lock(mutex_);
    sorted = ring_;
  }
  if (sorted.empty()) return 0;
  const auto rank =
      static_cast<size_t>(std::ceil(fraction * static_cast<double>(sorted.size())) - 1);
  const size_t at = std::min(rank, sorted.size() - 1);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at), sorted.end());
  return static_cast<double>(sorted[at]) * 1e-9;
}

int64_t RecentDurations::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace catamaran

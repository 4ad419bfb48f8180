// serve/learn/drift_monitor.cc

#include "catamaran/serve/learn/drift_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "catamaran/base/hash.h"
#include "catamaran/serve/learn/plain_bytes.h"

namespace catamaran {
namespace {

// Predictions nearer to 0 and 1 than this count as this: what is bounded can be tested.
constexpr double kSurest = 1e-4;
const double kWorstLoss = -std::log(kSurest);
constexpr int64_t kNever = -1;
constexpr double kLabelMemory = 10'000;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool IsProbability(double x) { return x >= 0 && x <= 1; }

// From 0 to kWorstLoss: the log loss or, where labels are no probabilities, how far prediction and
// label lie apart as a part of both.
double LossOf(double prediction, double label) {
  if (IsProbability(prediction) && IsProbability(label)) {
    const double p = std::clamp(prediction, kSurest, 1 - kSurest);
    return -(label * std::log(p) + (1 - label) * std::log(1 - p));
  }
  const double both = std::abs(prediction) + std::abs(label);
  return both > 0 ? std::abs(prediction - label) / both : 0;
}

uint64_t IdentityOf(const DriftSettings& settings, const std::vector<std::string>& features) {
  uint64_t hash = HashCombine(static_cast<uint64_t>(settings.window),
                              static_cast<uint64_t>(settings.max_features));
  for (const std::string& name : features) hash = HashString(name, hash);
  return hash;
}

}  // namespace

DriftMonitor::DriftMonitor(const DriftSettings& settings, const std::vector<std::string>& features)
    : settings_(settings),
      identity_(IdentityOf(settings, features)),
      loss_(kWorstLoss),
      bias_(2),
      predictions_(settings.window) {
  for (const std::string& name : features) {
    if (static_cast<int64_t>(features_.size()) == settings.max_features) break;
    features_.push_back({name, DistributionShift(settings.window)});
  }
  found_at_.fill(kNever);
}

bool DriftMonitor::Active(size_t cause) const {
  return found_at_[cause] != kNever && examples_ - found_at_[cause] <= settings_.window;
}

bool DriftMonitor::AlarmLocked() const {
  for (size_t cause = 0; cause < kCauses; ++cause) {
    if (Active(cause)) return true;
  }
  return false;
}

void DriftMonitor::Found(Cause cause, std::string what) {
  if (!AlarmLocked()) ++alarms_;
  found_at_[cause] = examples_;
  what_[cause] = std::move(what);
}

void DriftMonitor::Add(float prediction, float label, std::span<const float> features) {
  if (!settings_.on) return;
  const std::lock_guard lock(mutex_);
  ++examples_;
  if (std::isfinite(prediction) && std::isfinite(label)) {
    label_mean_ += (label - label_mean_) / std::min(static_cast<double>(examples_), kLabelMemory);
    const auto loss = loss_.Add(LossOf(prediction, label), settings_.change * loss_.mean());
    if (loss && loss->after > loss->before) {
      Found(kLoss, fmt::format("the loss rose from {:.4f} to {:.4f}", loss->before, loss->after));
    }
    if (IsProbability(prediction) && IsProbability(label)) {
      const auto bias = bias_.Add(double{prediction} - label, settings_.change * label_mean_);
      if (bias && std::abs(bias->after) > std::abs(bias->before)) {
        Found(kCalibration, fmt::format("predictions were {:+.4f} off on average, now {:+.4f}",
                                        bias->before, bias->after));
      }
    }
    if (predictions_.Add(prediction) && predictions_.index() >= settings_.psi) {
      Found(kPredictions, fmt::format("predictions are distributed otherwise (PSI {:.2f})",
                                      predictions_.index()));
    }
  }
  const Feature* most = nullptr;
  for (size_t i = 0; i < features_.size(); ++i) {
    Feature& feature = features_[i];
    if (!feature.shift.Add(features[i]) || !(feature.shift.index() >= settings_.psi)) continue;
    if (most == nullptr || feature.shift.index() > most->shift.index()) most = &feature;
  }
  if (most != nullptr) {
    Found(kFeatures,
          fmt::format("{} is distributed otherwise (PSI {:.2f})", most->name, most->shift.index()));
  }
}

LearningDrift DriftMonitor::Values() const {
  const std::lock_guard lock(mutex_);
  LearningDrift drift;
  drift.alarms = alarms_;
  for (size_t cause = 0; cause < kCauses; ++cause) {
    if (!Active(cause)) continue;
    drift.alarm = true;
    if (!drift.why.empty()) drift.why += "; ";
    drift.why += what_[cause];
  }
  const AdaptiveWindow::Change loss = loss_.Split(settings_.window);
  drift.loss_ratio = loss.before > 0 ? loss.after / loss.before : kNaN;
  const AdaptiveWindow::Change bias = bias_.Split(settings_.window);
  drift.bias_shift = bias.after - bias.before;
  drift.prediction_psi = predictions_.index();
  drift.feature_psi = kNaN;
  for (const Feature& feature : features_) {
    if (std::isnan(feature.shift.index()) || feature.shift.index() <= drift.feature_psi) continue;
    drift.feature_psi = feature.shift.index();
    drift.feature = feature.name;
  }
  return drift;
}

std::string DriftMonitor::Save() const {
  const std::lock_guard lock(mutex_);
  std::string bytes;
  AppendPlain(bytes, identity_);
  AppendPlain(bytes, examples_);
  AppendPlain(bytes, alarms_);
  AppendPlain(bytes, label_mean_);
  AppendPlain(bytes, found_at_);
  for (const std::string& what : what_) {
    AppendPlain(bytes, static_cast<uint64_t>(what.size()));
    bytes += what;
  }
  loss_.Save(bytes);
  bias_.Save(bytes);
  predictions_.Save(bytes);
  for (const Feature& feature : features_) feature.shift.Save(bytes);
  return bytes;
}

void DriftMonitor::Reset() {
  examples_ = alarms_ = 0;
  label_mean_ = 0;
  found_at_.fill(kNever);
  what_ = {};
  loss_ = AdaptiveWindow(kWorstLoss);
  bias_ = AdaptiveWindow(2);
  predictions_ = DistributionShift(settings_.window);
  for (Feature& feature : features_) feature.shift = DistributionShift(settings_.window);
}

void DriftMonitor::Load(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const auto read = [&] {
    uint64_t identity = 0;
    if (!TakePlain(bytes, identity) || identity != identity_) return false;
    if (!TakePlain(bytes, examples_) || !TakePlain(bytes, alarms_) ||
        !TakePlain(bytes, label_mean_) || !TakePlain(bytes, found_at_)) {
      return false;
    }
    for (std::string& what : what_) {
      uint64_t size = 0;
      if (!TakePlain(bytes, size) || size > bytes.size()) return false;
      what = bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
    if (!loss_.Load(bytes) || !bias_.Load(bytes) || !predictions_.Load(bytes)) return false;
    for (Feature& feature : features_) {
      if (!feature.shift.Load(bytes)) return false;
    }
    return true;
  };
  if (!read()) Reset();
}

}  // namespace catamaran

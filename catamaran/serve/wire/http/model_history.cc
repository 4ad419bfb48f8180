#include "catamaran/serve/wire/http/model_history.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace catamaran {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kLately = 10;  // seconds
// A tick is never quite on time: a point may come this much too early, so that none is left out.
constexpr int64_t kEarlyMs = 50;

// What came to the buckets in between; all there is if the model was loaded anew.
std::vector<uint64_t> CountsBetween(const ModelMoment& from, const ModelMoment& to) {
  std::vector<uint64_t> counts = to.details.latency_counts;
  const std::vector<uint64_t>& before = from.details.latency_counts;
  if (before.size() != counts.size()) return counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (before[i] > counts[i]) return to.details.latency_counts;
  }
  for (size_t i = 0; i < counts.size(); ++i) counts[i] -= before[i];
  return counts;
}

}  // namespace

const char* Name(HistoryField field) {
  static constexpr const char* kNames[] = {
      "requests",        "refused",  "p50",         "p99",
      "examples",        "feedback", "auc",         "frozen_auc",
      "frozen_live_auc", "log_loss", "calibration", "prediction_psi",
      "feature_psi",     "loss",     "freshness",   "lag_bytes",
      "waiting",         "rows",     "table_bytes"};
  static_assert(std::size(kNames) == kHistoryFields);
  return kNames[static_cast<size_t>(field)];
}

double Percentile(std::span<const double> bounds, std::span<const uint64_t> counts, double part) {
  const uint64_t all = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (all == 0 || bounds.empty()) return kUnknown;
  const double wanted = part * static_cast<double>(all);
  double below = 0;
  for (size_t i = 0; i < counts.size() && i < bounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= wanted) {
      const double low = i == 0 ? 0 : bounds[i - 1];
      return low + (bounds[i] - low) * (wanted - below) / here;
    }
    below += here;
  }
  return bounds.back();
}

HistoryPoint PointBetween(const ModelMoment& from, const ModelMoment& to) {
  HistoryPoint point;
  point.time_ms = to.time_ms;
  point.values.fill(kUnknown);
  const auto set = [&](HistoryField field, double value) {
    point.values[static_cast<size_t>(field)] = value;
  };
  const double seconds = static_cast<double>(to.time_ms - from.time_ms) / 1000;
  // A model that was loaded anew counts from nothing again.
  const auto rate = [&](int64_t before, int64_t after) {
    if (seconds <= 0) return kUnknown;
    return static_cast<double>(after >= before ? after - before : after) / seconds;
  };
  set(HistoryField::kRequests, rate(from.status.requests, to.status.requests));
  set(HistoryField::kRefused,
      rate(from.status.refused + from.status.failed, to.status.refused + to.status.failed));
  const std::vector<uint64_t> counts = CountsBetween(from, to);
  set(HistoryField::kP50, Percentile(to.details.latency_bounds, counts, 0.5));
  set(HistoryField::kP99, Percentile(to.details.latency_bounds, counts, 0.99));
  if (!to.details.tables.empty()) {
    double rows = 0, bytes = 0;
    for (const TableDetails& table : to.details.tables) {
      rows += static_cast<double>(table.info.rows);
      bytes += static_cast<double>(table.info.bytes);
    }
    set(HistoryField::kRows, rows);
    set(HistoryField::kTableBytes, bytes);
  }
  if (!to.status.learns) return point;
  const LearningStatus& now = to.learning;
  set(HistoryField::kExamples, rate(from.learning.examples, now.examples));
  set(HistoryField::kFeedback, rate(from.learning.feedback, now.feedback));
  if (now.window.examples > 0) {
    set(HistoryField::kAuc, now.window.auc);
    set(HistoryField::kLogLoss, now.window.log_loss);
    set(HistoryField::kCalibration, now.window.calibration);
  }
  if (now.frozen.examples > 0) {
    set(HistoryField::kFrozenAuc, now.frozen.auc);
    set(HistoryField::kFrozenLiveAuc, now.frozen.live_auc);
  }
  set(HistoryField::kPredictionPsi, now.drift.prediction_psi);
  set(HistoryField::kFeaturePsi, now.drift.feature_psi);
  if (now.steps > 0) set(HistoryField::kLoss, now.loss);
  if (now.freshness_count > 0) set(HistoryField::kFreshness, now.freshness_p99);
  set(HistoryField::kLag,
      static_cast<double>(now.log_end - std::min(now.log_consumed, now.log_end)));
  set(HistoryField::kWaiting, static_cast<double>(now.waiting_examples));
  return point;
}

void ModelHistory::Line::Add(const ModelMoment& now) {
  if (last.time_ms == 0) {
    last = now;
    return;
  }
  if (now.time_ms - last.time_ms < distance_ms - kEarlyMs) return;
  points.push_back(PointBetween(last, now));
  if (points.size() > most) points.pop_front();
  last = now;
}

void ModelHistory::Add(const ModelMoment& now) {
  const bool second = lately_.empty() || now.time_ms - lately_.back().time_ms >= 1000 - kEarlyMs;
  newest_ = now;
  if (!second) return;
  lately_.push_back(now);
  if (lately_.size() > kLately + 1) lately_.pop_front();
  seconds_.Add(now);
  minutes_.Add(now);
}

HistoryPoint ModelHistory::Lately() const {
  return PointBetween(lately_.empty() ? newest_ : lately_.front(), newest_);
}

double ModelHistory::LatelyLatency(double part) const {
  if (lately_.empty()) return kUnknown;
  return Percentile(newest_.details.latency_bounds, CountsBetween(lately_.front(), newest_), part);
}

}  // namespace catamaran

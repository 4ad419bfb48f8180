// serve/learning_metrics.cc

#include "catamaran/serve/learning_metrics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

namespace catamaran {
namespace {

struct Series {
  bool counter;  // or a gauge
  const char* name;
  const char* help;
  double (*value)(const LearningStatus& status);
};

template <auto Field>
double Number(const LearningStatus& status) {
  return static_cast<double>(status.*Field);
}

using S = LearningStatus;
constexpr Series kSeries[] = {
    {false, "catamaran_learning_running", "1 while the model learns, 0 when it stopped.",
     Number<&S::running>},
    {false, "catamaran_learning_paused", "1 while learning is paused.", Number<&S::paused>},
    {true, "catamaran_learning_steps_total", "Batches: learned, refused or skipped.",
     Number<&S::steps>},
    {true, "catamaran_learning_refused_steps_total", "Batches that a guard refused.",
     Number<&S::refused_steps>},
    {true, "catamaran_learning_skipped_steps_total", "Batches that rollbacks took back.",
     Number<&S::skipped_steps>},
    {true, "catamaran_learning_examples_total", "Examples that steps took.", Number<&S::examples>},
    {true, "catamaran_learning_dropped_examples_total",
     "Examples that were dropped, since too many waited.", Number<&S::dropped_examples>},
    {true, "catamaran_learning_dropped_feedback_total",
     "Feedback that was held for an impression, and left out early for want of room.",
     Number<&S::dropped_feedback>},
    {true, "catamaran_learning_refused_calls_total",
     "Calls of Train and Feedback that were refused, since too much was waiting.",
     Number<&S::refused_calls>},
    {false, "catamaran_learning_waiting_bytes",
     "Memory of feedback and examples that wait to be learned from.", Number<&S::waiting_bytes>},
    {false, "catamaran_learning_key_bytes", "Memory of idempotency keys.", Number<&S::key_bytes>},
    {false, "catamaran_learning_waiting_examples", "Labelled examples that no step has taken yet.",
     Number<&S::waiting_examples>},
    {false, "catamaran_learning_log_bytes", "What the log holds.",
     [](const S& s) { return static_cast<double>(s.log_end - s.log_begin); }},
    {false, "catamaran_learning_lag_bytes", "What of the log is not read yet by what learns.",
     [](const S& s) {
       return static_cast<double>(s.log_end - std::min(s.log_consumed, s.log_end));
     }},
    {false, "catamaran_learning_commit", "Number of the newest commit.", Number<&S::commit>},
    {false, "catamaran_learning_commit_step", "Step of the newest commit.",
     Number<&S::commit_step>},
    {true, "catamaran_learning_impressions_total", "Answers that the log took.",
     Number<&S::impressions>},
    {false, "catamaran_learning_open_impressions", "Impressions whose windows are open.",
     Number<&S::open_impressions>},
    {false, "catamaran_learning_join_bytes", "Memory of the join.", Number<&S::join_bytes>},
    {true, "catamaran_learning_feedback_total", "Feedback that the log took.",
     Number<&S::feedback>},
    {true, "catamaran_learning_unmatched_feedback_total", "Feedback for ids that nobody knew.",
     Number<&S::unmatched_feedback>},
    {true, "catamaran_learning_feedback_for_lost_total",
     "Feedback for answers that the log did not take: it cannot be joined.",
     Number<&S::feedback_for_lost>},
    {true, "catamaran_learning_late_feedback_total", "Feedback that came after its window.",
     Number<&S::late_feedback>},
    {false, "catamaran_learning_loss", "Of the newest step.", Number<&S::loss>},
    {true, "catamaran_learning_unwritten_total",
     "Rows and parameters that kept numbers, since the next ones would not be finite.",
     Number<&S::unwritten>},
    {true, "catamaran_learning_retried_steps_total",
     "Steps that were tried again, as something outside did not answer.",
     Number<&S::retried_steps>},
    {false, "catamaran_learning_auc", "Of predictions made before the label was known, lately.",
     [](const S& s) { return s.window.auc; }},
    {false, "catamaran_learning_frozen_auc",
     "Of a state that was frozen when learning began (setting frozen); NaN: there is none.",
     [](const S& s) { return s.frozen.examples > 0 ? s.frozen.auc : std::nan(""); }},
    {false, "catamaran_learning_frozen_live_auc", "Of the state that learns, on the same examples.",
     [](const S& s) { return s.frozen.examples > 0 ? s.frozen.live_auc : std::nan(""); }},
    {false, "catamaran_learning_log_loss", "Of the same predictions.",
     [](const S& s) { return s.window.log_loss; }},
    {false, "catamaran_learning_calibration",
     "Sum of the same predictions by the sum of their labels.",
     [](const S& s) { return s.window.calibration; }},
    {false, "catamaran_learning_drift", "1 while the drift alarm is on.",
     [](const S& s) { return s.drift.alarm ? 1.0 : 0.0; }},
    {true, "catamaran_learning_drift_alarms_total", "How often the drift alarm was raised.",
     [](const S& s) { return static_cast<double>(s.drift.alarms); }},
    {false, "catamaran_learning_drift_loss_ratio", "Mean loss lately by the mean loss before.",
     [](const S& s) { return s.drift.loss_ratio; }},
    {false, "catamaran_learning_drift_bias_shift",
     "Mean of prediction minus label lately, less that before.",
     [](const S& s) { return s.drift.bias_shift; }},
    {false, "catamaran_learning_drift_prediction_psi",
     "Population stability index of the predictions lately against those before.",
     [](const S& s) { return s.drift.prediction_psi; }},
    {false, "catamaran_learning_drift_feature_psi",
     "The largest population stability index of a feature.",
     [](const S& s) { return s.drift.feature_psi; }},
    {false, "catamaran_learning_freshness_p50_seconds",
     "From acknowledged to visible in answers, median of the newest examples.",
     Number<&S::freshness_p50>},
    {false, "catamaran_learning_freshness_p99_seconds", "The same, 99th percentile.",
     Number<&S::freshness_p99>},
};

// The status of a moment: series of one scrape show the same, and it is made once for all of them.
class RecentStatus {
 public:
  explicit RecentStatus(std::shared_ptr<const Learning> learning)
      : learning_(std::move(learning)) {}

  double Value(double (*of)(const LearningStatus& status)) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!taken_ || now - *taken_ > kRecent) {
      status_ = learning_->status();
      taken_ = now;
    }
    return of(status_);
  }

 private:
  static constexpr std::chrono::milliseconds kRecent{100};
  const std::shared_ptr<const Learning> learning_;
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> taken_;
  LearningStatus status_;
};

}  // namespace

std::vector<std::shared_ptr<void>> AddLearningMetrics(Metrics& metrics, const std::string& model,
                                                      std::shared_ptr<const Learning> learning) {
  std::vector<std::shared_ptr<void>> held;
  const Metrics::Labels labels = {{"model", model}};
  const auto status = std::make_shared<RecentStatus>(std::move(learning));
  for (const Series& series : kSeries) {
    const auto value = [status, of = series.value] { return status->Value(of); };
    held.push_back(series.counter
                       ? metrics.AddCounterFunction(series.name, series.help, labels, value)
                       : metrics.AddGaugeFunction(series.name, series.help, labels, value));
  }
  return held;
}

}  // namespace catamaran

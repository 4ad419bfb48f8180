// serve/wire/learning_calls.h
//
// What the protocols share of learning: who learns, and the status field by field.

#pragma once

#include <memory>
#include <string_view>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/server.h"

namespace catamaran {

// What `model` learns by. kNotFound if there is no such model, kFailedPrecondition if it does not
// learn.
Status FindLearning(const Server& server, std::string_view model,
                    std::shared_ptr<Learning>& learning);

// Calls visit(name, value) for each field of the status, by the names of learning.proto; a value is
// a bool, int64_t, uint64_t, double or std::string.
template <class Visit>
void VisitStatus(const LearningStatus& status, Visit&& visit) {
  visit("model", status.model);
  visit("running", status.running);
  visit("paused", status.paused);
  visit("problem", status.problem);
  visit("past_problem", status.past_problem);
  visit("past_problem_ns", status.past_problem_ns);
  visit("step", status.step);
  visit("steps", status.steps);
  visit("refused_steps", status.refused_steps);
  visit("skipped_steps", status.skipped_steps);
  visit("examples", status.examples);
  visit("waiting_examples", status.waiting_examples);
  visit("log_begin", status.log_begin);
  visit("log_end", status.log_end);
  visit("log_durable", status.log_durable);
  visit("log_consumed", status.log_consumed);
  visit("event_time_ns", status.event_time_ns);
  visit("commit", status.commit);
  visit("commit_step", status.commit_step);
  visit("impressions", status.impressions);
  visit("open_impressions", status.open_impressions);
  visit("join_bytes", status.join_bytes);
  visit("feedback", status.feedback);
  visit("matched_feedback", status.matched_feedback);
  visit("waiting_feedback", status.waiting_feedback);
  visit("unmatched_feedback", status.unmatched_feedback);
  visit("late_feedback", status.late_feedback);
  visit("duplicate_feedback", status.duplicate_feedback);
  visit("duplicate_impressions", status.duplicate_impressions);
  visit("closed_early", status.closed_early);
  visit("duplicate_keys", status.duplicate_keys);
  visit("idempotency_keys", status.idempotency_keys);
  visit("dropped_examples", status.dropped_examples);
  visit("lost_impressions", status.lost_impressions);
  visit("feedback_for_lost", status.feedback_for_lost);
  visit("dropped_feedback", status.dropped_feedback);
  visit("refused_calls", status.refused_calls);
  visit("waiting_bytes", status.waiting_bytes);
  visit("key_bytes", status.key_bytes);
  visit("unwritten", status.unwritten);
  visit("retried_steps", status.retried_steps);
  visit("loss", status.loss);
  visit("window_examples", status.window.examples);
  visit("window_auc", status.window.auc);
  visit("window_log_loss", status.window.log_loss);
  visit("window_calibration", status.window.calibration);
  visit("drift", status.drift.alarm);
  visit("drift_why", status.drift.why);
  visit("drift_alarms", status.drift.alarms);
  visit("drift_loss_ratio", status.drift.loss_ratio);
  visit("drift_bias_shift", status.drift.bias_shift);
  visit("drift_prediction_psi", status.drift.prediction_psi);
  visit("drift_feature_psi", status.drift.feature_psi);
  visit("drift_feature", status.drift.feature);
  visit("frozen_examples", status.frozen.examples);
  visit("frozen_step", status.frozen.step);
  visit("frozen_auc", status.frozen.auc);
  visit("frozen_log_loss", status.frozen.log_loss);
  visit("frozen_live_auc", status.frozen.live_auc);
  visit("frozen_live_log_loss", status.frozen.live_log_loss);
  visit("freshness_p50", status.freshness_p50);
  visit("freshness_p99", status.freshness_p99);
  visit("freshness_count", status.freshness_count);
}

}  // namespace catamaran

// serve/learning.h
//
// What one served model offers for learning: the wires and the host call it. learn/learner.h is the
// implementation; its StartLearner is what ModelServerOptions::start_learning wants. Examples,
// impressions and feedback go to the model's log, and the state changes only as a function of that
// log (docs/learning.md).
//
// For the host:
//   - The State that answers requests is `state()`: take it anew for each batch of requests, and
//     keep the pointer until the batch is done. It is another object after a rollback.
//   - LogImpression is called with the request as it came and the response as it leaves, before it
//     leaves; a Status that is not kOk means that the impression was not logged (the disk is full):
//     the answer leaves all the same.
//   - Stop() ends learning for good, with a last commit: call it when draining.
//
// For the wires: callbacks are called once, maybe before the call returns, on any thread; they must
// be short. kResourceExhausted: too much is waiting, or the disk is full; come again later.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/exec/state.h"
#include "catamaran/serve/feature_rates.h"
#include "catamaran/serve/infer.h"
#include "catamaran/serve/status.h"

namespace catamaran {

class Log;

// Rows with their labels. One request is learned from as a whole or not at all.
struct TrainRequest {
  std::string model;
  // Arguments of `train` by name: features, labels, and `weight` if the program has it; the leading
  // dimension is rows (1: the same for all rows).
  std::vector<NamedTensor> inputs;
  // Instead of inputs: JSON objects. Raw features, through the model's transforms, and the labels
  // by the names of their arguments.
  std::vector<std::string> rows;
  int64_t event_time_ns = 0;    // since 1970; 0: now
  std::string idempotency_key;  // a retry carries the same; empty: none
};
struct TrainReply {
  int64_t rows = 0;         // that are in the log, durably as the log's policy says
  uint64_t log_offset = 0;  // behind them
};

// What became of one row of an answer.
struct FeedbackItem {
  std::string id;               // of the request
  int64_t row = 0;              // of the answer
  std::string event;            // as the model's labels name it; empty: the first one's
  double value = 1;             // of the label
  int64_t event_time_ns = 0;    // 0: now
  std::string idempotency_key;  // empty: none
};
struct FeedbackRequest {
  std::string model;
  std::vector<FeedbackItem> items;
};
struct FeedbackReply {
  int64_t items = 0;        // that are in the log
  uint64_t log_offset = 0;  // behind them
};

struct CommitReply {
  uint64_t commit = 0;
  int64_t step = 0;
  uint64_t log_offset = 0;  // all of the log before it is in the commit
};

struct RollbackReply {
  uint64_t commit = 0;        // the state is that of this commit
  int64_t step = 0;           // its step
  int64_t skipped_steps = 0;  // whose effect is gone
  int64_t skipped_examples = 0;
};

// Progressive validation: predictions made before the label was known, over the last examples.
struct LearningWindow {
  int64_t examples = 0;
  double auc = 0;  // NaN where it makes no sense; so the others
  double log_loss = 0;
  double calibration = 0;  // sum of predictions by sum of labels
};

// Whether what is learned from has changed lately (learn/drift_monitor.h). NaN: not known yet.
struct LearningDrift {
  bool alarm = false;
  std::string why;            // of the alarm
  int64_t alarms = 0;         // so far
  double loss_ratio = 0;      // mean loss lately by that before
  double bias_shift = 0;      // mean of prediction minus label lately, less that before
  double prediction_psi = 0;  // population stability index of the predictions
  double feature_psi = 0;     // the largest of the features'
  std::string feature;        // which that is
};

// A state that was frozen when learning began, beside the one that learns, on the same examples.
struct LearningFrozen {
  int64_t examples = 0;                    // 0: there is none
  int64_t step = 0;                        // of the frozen state
  double auc = 0, log_loss = 0;            // NaN where they make no sense
  double live_auc = 0, live_log_loss = 0;  // of the predictions of the state that learns
};

struct LearningStatus {
  std::string model;
  bool running = false;  // false: stopped, or stopped by `problem`
  bool paused = false;
  std::string problem;  // why learning stands still or what was refused last; empty: all is well
  std::string past_problem;     // the one that was resolved last; empty: none
  int64_t past_problem_ns = 0;  // when that was

  int64_t step = 0;              // of the state
  int64_t steps = 0;             // batches since the log's beginning, learned, refused or skipped
  int64_t refused_steps = 0;     // by a guard
  int64_t skipped_steps = 0;     // by rollbacks
  int64_t examples = 0;          // taken by steps
  int64_t waiting_examples = 0;  // labelled and not taken yet
  uint64_t log_begin = 0, log_end = 0, log_durable = 0, log_consumed = 0;
  int64_t event_time_ns = 0;  // the clock of the join
  uint64_t commit = 0;        // newest that is durable
  int64_t commit_step = 0;

  // The join.
  int64_t impressions = 0, open_impressions = 0, join_bytes = 0;
  int64_t feedback = 0, matched_feedback = 0, waiting_feedback = 0, unmatched_feedback = 0;
  int64_t late_feedback = 0, duplicate_feedback = 0, duplicate_impressions = 0;
  int64_t closed_early = 0;      // impressions that had to go before their windows ended
  int64_t duplicate_keys = 0;    // retries, by their idempotency keys
  int64_t idempotency_keys = 0;  // remembered
  int64_t dropped_examples = 0;  // since too many were waiting
  // Since the process began: answers that the log did not take, and feedback for them, which is
  // accepted and cannot be joined (learn/lost_impressions.h).
  int64_t lost_impressions = 0, feedback_for_lost = 0;

  // Rows and parameters, so far, that kept numbers since the next ones would not be finite.
  int64_t unwritten = 0;
  int64_t retried_steps = 0;     // how often a step was tried again, as something did not answer
  int64_t dropped_feedback = 0;  // held for an impression, and left out early for want of room
  int64_t refused_calls = 0;  // of Train and Feedback since the start, since too much was waiting
  int64_t waiting_bytes = 0;  // memory of feedback and examples that wait, read or not
  int64_t key_bytes = 0;      // memory of idempotency keys

  double loss = 0;  // of the newest step
  LearningWindow window;
  LearningDrift drift;
  LearningFrozen frozen;
  std::vector<FeatureRates> features;  // of requests lately
  // From acknowledged to visible in `infer`, of the newest examples; seconds.
  double freshness_p50 = 0, freshness_p99 = 0;
  int64_t freshness_count = 0;
};

class Learning {
 public:
  template <class Reply>
  using Callback = std::function<void(Status, Reply)>;

  virtual ~Learning() = default;

  // The state that answers requests.
  virtual std::shared_ptr<State> state() const = 0;

  // kInvalidArgument says which input is wrong; nothing was written then.
  virtual void Train(TrainRequest request, Callback<TrainReply> done) = 0;
  // Ids that nobody knows yet are fine: an impression may come after its feedback.
  virtual void Feedback(FeedbackRequest request, Callback<FeedbackReply> done) = 0;

  // Calls when a new commit is durable that holds all that was acknowledged before this call and
  // was due for learning.
  virtual void Commit(Callback<CommitReply> done) = 0;
  // No step is begun until Resume; what comes in waits in the log. Both are in the log, so a
  // restart changes nothing.
  virtual void Pause(Callback<LearningStatus> done) = 0;
  virtual void Resume(Callback<LearningStatus> done) = 0;
  // Back to the state of an earlier commit: kNotFound if it is not kept any more. The log, the join
  // and the keys seen do not go back; steps since then are skipped for good, and listed so.
  virtual void Rollback(uint64_t commit, Callback<RollbackReply> done) = 0;
  // Commits that a rollback can go to, newest first: number and step.
  virtual std::vector<std::pair<uint64_t, int64_t>> Commits() const = 0;

  virtual LearningStatus status() const = 0;

  // Calls `changed` soon after something did, at most every 100 ms; false from it: no more. The
  // number is for Unwatch, after which it is not running any more and not called again.
  virtual uint64_t Watch(std::function<bool(const LearningStatus&)> changed) = 0;
  virtual void Unwatch(uint64_t watch) = 0;

  // Whether a request may have happened at that time; 0: now. kInvalidArgument says what is wrong.
  virtual Status CheckEventTime(int64_t) const { return {}; }
  // An answer that is about to leave. REQUIRES: request.id is not empty.
  virtual Status LogImpression(const InferRequest& request, const InferResponse& response) = 0;

  // No more calls are taken (kUnavailable); what was acknowledged is learned from and committed.
  virtual void Stop() = 0;
  // As Stop, so that another version learns in its place; but impressions are still written to the
  // log, which it gives and leaves open. Null: there is none that can be gone on with.
  virtual std::shared_ptr<Log> HandOver() = 0;
};

}  // namespace catamaran

// serve/learn/learner.h
//
// A model that learns while it serves. Whoever calls appends records to the model's log; one thread
// follows the log and applies each record, in order, to the state (log_applier.h). What it decides
// by itself (when a batch is full or has waited long enough, that time has gone by, that a step was
// refused) it writes to the log first and applies when it comes to it there: the state is a
// function of the log, and a commit of it is the state and how far the log was read.
//
// After a crash the newest commit and the log behind it give the state that there was: examples
// that were acknowledged are learned from once, whatever happened when.
//
// Thread safety: as learning.h says.

#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catamaran/base/clock.h"
#include "catamaran/commit/row_mover.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/serve/hosted_model.h"
#include "catamaran/serve/learn/batch_builder.h"
#include "catamaran/serve/learn/learner_part.h"
#include "catamaran/serve/learn/log_applier.h"
#include "catamaran/serve/learn/lost_impressions.h"
#include "catamaran/serve/learn/problems.h"
#include "catamaran/serve/learn/progress_window.h"
#include "catamaran/serve/learn/row_formats.h"
#include "catamaran/serve/learn/settings.h"
#include "catamaran/serve/learning.h"
#include "catamaran/stream/log/log.h"

namespace catamaran {

class Learner final : public Learning {
 public:
  // Recovers, and learns from there on. Throws an Error if the model cannot learn, or its log and
  // state do not fit together. The clocks outlive it: `clock` stamps records, `steady` measures.
  explicit Learner(HostedModel model, const Clock& clock = RealClock(),
                   const Clock& steady = SteadyClock());
  // Ends at once, as a crash would: what was acknowledged is in the log. Stop() commits first.
  ~Learner() override;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  std::shared_ptr<State> state() const override;
  void Train(TrainRequest request, Callback<TrainReply> done) override;
  void Feedback(FeedbackRequest request, Callback<FeedbackReply> done) override;
  void Commit(Callback<CommitReply> done) override;
  void Pause(Callback<LearningStatus> done) override;
  void Resume(Callback<LearningStatus> done) override;
  void Rollback(uint64_t commit, Callback<RollbackReply> done) override;
  std::vector<std::pair<uint64_t, int64_t>> Commits() const override;
  LearningStatus status() const override;
  uint64_t Watch(std::function<bool(const LearningStatus&)> changed) override;
  void Unwatch(uint64_t watch) override;
  Status CheckEventTime(int64_t event_time_ns) const override;
  Status LogImpression(const InferRequest& request, const InferResponse& response) override;
  void Stop() override;
  std::shared_ptr<Log> HandOver() override;

  const LearnSettings& settings() const { return settings_; }
  Log& log() { return *log_; }

 private:
  struct CommitRequest {
    LogOffset target = 0;             // all before it is to be applied,
    std::optional<int64_t> examples;  // then this many are to be taken
    Callback<CommitReply> done;
  };
  struct RollbackRequest {
    uint64_t commit = 0;
    bool recorded = false;
    Callback<RollbackReply> done;
  };
  struct Applied {
    LogOffset end = 0;
    std::function<void()> then;
  };
  struct Watcher {
    uint64_t number = 0;
    std::function<bool(const LearningStatus&)> changed;
  };

  // learner.cc: the thread.
  void Open();
  void OpenLog(const LogOptions& options);
  void Recover();
  void Freeze();
  void WriteSchemas();
  void Run();
  void Turn(LogCursor& cursor);
  void LookAtMover();
  void ApplyRecords(LogCursor& cursor, std::chrono::nanoseconds wait);
  void ApplyRecord(const LogRecord& record);
  void LearnStep(const StreamAction& action, bool live);
  StepOutcome LearnOrWait(const StreamAction& action);
  void TakeRequests();
  void Schedule(int64_t now);
  bool AppendStep(int64_t examples);
  void AppendTick();
  void AppendRefusals();
  void RunApplied();
  void UpdateStatus();
  void NotifyWatchers(int64_t now);
  void StandStill(const std::string& why);
  void Problem(const char* event, const std::string& why);
  void Resolved(const char* event);
  void TellDrift();
  void RefuseAll(const Status& status);
  std::optional<LogOffset> TryAppend(RecordType type, int64_t time_ns, const std::string& payload);
  int64_t available() const { return applier_->stream().waiting() - scheduled_examples_; }

  // learner_commit.cc
  void MakeCoordinator(const LoadedState* loaded);
  Positions PositionsNow() const;
  std::string CutBytes();
  void LoadBytes(const CommitPart& part, ExampleStream& stream, LogApplier* applier) const;
  void HoldLog();
  void HoldForKeptCommits();
  void ShareDisk();
  void CheckDisk() const;
  bool CommitDue(int64_t now) const;
  bool IsWhole(const CommitRequest& request) const;
  void StartCommit(int64_t now);
  void FinishCommit();
  void Committed(const CommitResult& result);
  void CommitIfDue(int64_t now);
  void BeginRollback();
  void ApplyRollback(const RollbackRecord& record);

  // learner_requests.cc
  Status TryLogImpression(const InferRequest& request, const InferResponse& response,
                          std::string_view id);
  int64_t StampOf(int64_t event_time_ns) const;
  Status Refusal() const;
  Status RefusalOfMore();
  void CheckRows(const RowFormats::Labelled& labelled);
  void CheckLabelValue(const FeedbackItem& item) const;
  template <class Reply>
  void Acknowledge(RecordType type, int64_t time_ns, const std::string& payload, int64_t count,
                   uint64_t bytes, Callback<Reply> done);
  void SetPaused(RecordType type, Callback<LearningStatus> done);
  void Ask(std::function<void()> request);
  void EndThread();

  HostedModel model_;
  const Clock& clock_;
  const Clock& steady_;
  const LearnSettings settings_;
  const std::string state_directory_;
  RowFormats formats_;
  std::shared_ptr<Log> log_;
  std::unique_ptr<LogApplier> applier_;

  mutable std::mutex state_mutex_;
  std::shared_ptr<State> state_;

  // Of requests that are checked before they are logged; each has one of them to itself, so that a
  // large one does not hold up small ones.
  std::mutex check_mutex_;
  std::vector<std::unique_ptr<BatchBuilder>> checkers_;  // that nobody uses now

  // --- The thread's own.
  std::unique_ptr<CommitCoordinator> commits_;  // goes before the state
  std::unique_ptr<RowMover> mover_;             // of saved rows into memory; so does this
  bool to_be_verified_ = false;                 // damage was found; a commit without it is to come
  bool nap_ = false;                            // before the log is looked at again
  LogOffset live_from_ = 0;  // records from here on were not there when it started
  int64_t scheduled_examples_ = 0, scheduled_steps_ = 0;  // in the log and not applied yet
  int64_t waiting_since_ = 0;                             // by steady_; 0: nothing waits
  int64_t append_again_at_ = 0;              // the log was full: when it is tried again
  LogOffset full_at_ = 0;                    // where it ended then
  std::map<int64_t, std::string> refusals_;  // why, by step: to be recorded
  int64_t last_tick_ = 0;
  bool committing_ = false;
  LogOffset cut_position_ = 0, cut_oldest_ = 0;
  int64_t last_commit_at_ = 0, last_commit_steps_ = 0;
  int64_t changes_ = 0, last_commit_changes_ = 0;  // records that a commit is worth
  uint64_t newest_commit_ = 0;
  int64_t newest_commit_step_ = 0;
  std::map<uint64_t, LogOffset> needed_by_commit_;
  std::deque<CommitRequest> commit_requests_;
  std::vector<CommitRequest> in_commit_;
  std::optional<RollbackRequest> rollback_;
  std::deque<Applied> when_applied_;
  int64_t notified_at_ = 0;
  LearningStatus notified_;
  double loss_ = 0;
  int64_t unwritten_ = 0, retries_ = 0;
  int64_t told_alarms_ = 0;  // of drift
  bool told_drift_ = false;

  // --- Shared.
  std::mutex requests_mutex_;
  std::vector<std::function<void()>> requests_;  // for the thread
  std::atomic<bool> has_requests_ = false;
  std::atomic<bool> accepting_ = false;
  std::atomic<bool> logging_ = false;  // of impressions
  std::atomic<bool> end_ = false;
  mutable std::mutex status_mutex_;
  LearningStatus status_;
  LearningProblems problems_;  // guarded by status_mutex_
  // What was acknowledged and has not been read from the log yet, and the memory it will take.
  struct Unread {
    LogOffset end = 0;
    int64_t bytes = 0;
  };
  std::deque<Unread> unread_;
  int64_t unread_bytes_ = 0;
  std::recursive_mutex watch_mutex_;
  std::vector<Watcher> watchers_;
  uint64_t next_watch_ = 1;
  struct Acknowledged {
    std::mutex mutex;
    std::map<LogOffset, int64_t> at;  // by where the record begins: when
  };
  // Callbacks of the log share it: they may be called when it has been handed over.
  const std::shared_ptr<Acknowledged> acked_ = std::make_shared<Acknowledged>();
  RecentDurations freshness_;
  // Callbacks of the log share it too.
  const std::shared_ptr<LostImpressions> lost_ = std::make_shared<LostImpressions>();
  std::once_flag stopped_;
  std::thread thread_;
};

// For the host (hosted_model.h).
std::shared_ptr<Learning> StartLearner(HostedModel model);

}  // namespace catamaran

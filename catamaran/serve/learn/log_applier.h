// serve/learn/log_applier.h
//
// Applies the records of a log to a State, one after another: what live learning, recovery and
// replay share, so that all three give the same bits.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/serve/learn/batch_builder.h"
#include "catamaran/serve/learn/drift_monitor.h"
#include "catamaran/serve/learn/progress_window.h"
#include "catamaran/stream/join/example_stream.h"
#include "catamaran/train/scalar_results.h"

namespace catamaran {

struct ApplierOptions {
  int threads = 1;
  bool progressive = false;  // predicts examples without a prediction before they are learned
  int64_t window_examples = 10'000;  // of what was predicted
  DriftSettings drift = {.on = false};
  double frozen_share = 0;  // of steps, on which a frozen state is measured; 0: none
};

// What became of a step that ended.
struct StepOutcome {
  bool trained = false;
  bool refused = false;
  std::string why;        // it was refused
  int64_t unwritten = 0;  // RunStatus::unwritten
  double loss = 0;        // the first result of train that is a number
};

class LogApplier {
 public:
  // An Error if the program cannot learn. `flat` outlives it.
  LogApplier(const Program& flat, const EntryPoints& entry, const std::optional<Features>& features,
             const FeedOptions& feed, const ApplierOptions& options, ReadRecord read);

  ExampleStream& stream() { return stream_; }
  const ExampleStream& stream() const { return stream_; }
  ProgressWindow& window() { return window_; }
  DriftMonitor& drift() { return *drift_; }

  // From now on this state, which nobody changes, is measured beside the one that learns. A
  // measurement of this process alone: neither commits nor replays know of it.
  void Freeze(std::shared_ptr<State> state);
  // May be called from other threads, once Freeze was.
  LearningFrozen frozen() const;

  // Applies the record to everything but the state; `action` says what is left to do.
  void Apply(const LogRecord& record, StreamAction& action) { stream_.Apply(record, action); }

  // Learns from the batch of a step. What cannot be learned from, by a guard or since the data does
  // not fit, is refused, and is refused again in every replay. Everything else that goes wrong is
  // an Error, and no step was taken: where that is unavailable the call may be repeated; memory or
  // files that fail, or a bug, leave a state that answers and must not go on without this step.
  StepOutcome Learn(const StreamAction& action, State& state);

 private:
  // A number that each row of an argument has.
  struct FeatureNumber {
    size_t argument = 0;
    int64_t of_row = 1, at = 0;  // which of how many
  };
  void WatchFeatures(const Function& train, const EntryPoints& entry,
                     const DriftSettings& settings);
  // Predictions of the batch, and their measurement, once the step is over.
  void Predict(std::span<const FeedValue> feeds, State& state);
  void MeasurePredictions(std::span<const FeedValue> feeds);
  void MeasureFrozen();
  void AddToDrift(std::span<const FeedValue> feeds, size_t row, float prediction, float label);

  const ReadRecord read_;
  ExampleStream stream_;
  ProgressWindow window_;
  std::unique_ptr<DriftMonitor> drift_;
  std::vector<FeatureNumber> numbers_;
  std::vector<float> row_numbers_;
  std::vector<float> predictions_;  // of the batch at hand
  std::shared_ptr<State> frozen_;
  const int64_t frozen_every_;  // steps
  int64_t frozen_steps_ = 0;
  ProgressWindow frozen_window_, frozen_live_window_;
  BatchBuilder batches_;
  std::shared_ptr<const Executable> train_, infer_;
  std::unique_ptr<ScalarResults> results_;
  bool progressive_ = false;
  std::vector<size_t> infer_arguments_;  // of infer, among those of train
  std::vector<FeedValue> infer_feeds_;
};

}  // namespace catamaran

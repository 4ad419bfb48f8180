// serve/learn/log_applier.cc

#include "catamaran/serve/learn/log_applier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

LogApplier::LogApplier(const Program& flat, const EntryPoints& entry,
                       const std::optional<Features>& features, const FeedOptions& feed,
                       const ApplierOptions& options, ReadRecord read)
    : read_(std::move(read)),
      window_(options.window_examples),
      batches_(flat, entry, features, feed) {
  CompileOptions compile;
  compile.threads = options.threads;
  train_ = Compile(flat, entry.train, compile);
  if (!train_->commits()) {
    Fail(
        "{} learns nothing: it has no commit region. A program learns with a function such as "
        "train = adam(grad(loss), lr=0.001)",
        entry.train);
  }
  results_ = std::make_unique<ScalarResults>(*train_);
  if (!options.progressive || entry.infer.empty()) return;
  auto infer = Compile(flat, entry.infer, compile);
  for (size_t i = 0; i < infer->num_inputs(); ++i) {
    for (size_t j = 0; j < train_->num_inputs(); ++j) {
      if (train_->input_name(j) == infer->input_name(i)) infer_arguments_.push_back(j);
    }
  }
  // What train does not take cannot be predicted from what it takes.
  if (infer_arguments_.size() == infer->num_inputs() && infer->num_outputs() > 0) {
    infer_ = std::move(infer);
  }
}

void LogApplier::Predict(std::span<const FeedValue> feeds, State& state) {
  const auto& rows = batches_.rows();
  const bool all_known = std::none_of(rows.begin(), rows.end(),
                                      [](const auto& row) { return std::isnan(row.prediction); });
  RunResult result;
  if (!all_known && infer_) {
    infer_feeds_.clear();
    for (const size_t j : infer_arguments_) infer_feeds_.push_back(feeds[j]);
    try {
      result = infer_->Run(state, infer_feeds_);
    } catch (const Error&) {
      // A measurement that fails must not decide what is learned: a replay does not make it.
    }
  }
  const bool usable = !result.outputs.empty() && result.outputs[0].dtype() == DType::kF32 &&
                      result.outputs[0].num_elements() == static_cast<int64_t>(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    const bool known = !std::isnan(rows[r].prediction);
    if (!known && !usable) continue;
    window_.Add(known ? rows[r].prediction : result.outputs[0].data<float>()[r], rows[r].label,
                rows[r].weight);
  }
}

StepOutcome LogApplier::Learn(const StreamAction& action, State& state) {
  batches_.Read(action.examples, stream_, read_);
  StepOutcome outcome;
  try {
    const std::span<const FeedValue> feeds = batches_.Feed();
    if (feeds.empty()) Fail("none of its examples fits this program");
    Predict(feeds, state);
    RunOptions run;
    run.event_time = action.time_ns;
    const RunStatus status = train_->Run(state, feeds, results_->buffers(), run);
    outcome.trained = status.committed;
    outcome.refused = status.refused;
    if (!results_->names().empty()) outcome.loss = results_->value(0);
    if (status.refused)
      outcome.why = fmt::format("a guard refused it; the loss is {}", outcome.loss);
  } catch (const Error& error) {
    outcome.refused = true;
    outcome.why = error.what();
  }
  if (outcome.refused) stream_.NoteRefusal(action.step.number);
  return outcome;
}

}  // namespace catamaran

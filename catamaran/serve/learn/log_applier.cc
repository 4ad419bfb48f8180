// serve/learn/log_applier.cc

#include "catamaran/serve/learn/log_applier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// Whether the first result is one number a row.
bool IsUsable(const RunResult& result, size_t rows) {
  return !result.outputs.empty() && result.outputs[0].dtype() == DType::kF32 &&
         result.outputs[0].num_elements() == static_cast<int64_t>(rows);
}

// Whether the batch is to blame: then the step is refused, whenever it is tried.
bool IsOfTheData(const std::exception& error) {
  const ErrorCode code = CodeOf(error);
  return code == ErrorCode::kBadData || code == ErrorCode::kInvalidArgument;
}

}  // namespace

LogApplier::LogApplier(const Program& flat, const EntryPoints& entry,
                       const std::optional<Features>& features, const FeedOptions& feed,
                       const ApplierOptions& options, ReadRecord read)
    : read_(std::move(read)),
      window_(options.window_examples),
      frozen_every_(options.frozen_share > 0 ? std::lround(1 / options.frozen_share) : 0),
      frozen_window_(options.window_examples),
      frozen_live_window_(options.window_examples),
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
  WatchFeatures(*flat.items.FindFunction(entry.train), entry, options.drift);
  progressive_ = options.progressive;
  if ((!progressive_ && frozen_every_ == 0) || entry.infer.empty()) return;
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

// Dense numbers, of arguments whose rows have a fixed shape; ids have no order to speak of.
void LogApplier::WatchFeatures(const Function& train, const EntryPoints& entry,
                               const DriftSettings& settings) {
  std::vector<std::string> names;
  for (size_t j = 0; j < train_->num_inputs(); ++j) {
    const Value& argument = *train.param(static_cast<int>(j));
    const bool label =
        argument.name == kWeightArgument ||
        std::find(entry.labels.begin(), entry.labels.end(), argument.name) != entry.labels.end();
    const Type& type = argument.type;
    if (label || !type.is_tensor() || type.is_ragged() || type.rank() == 0 ||
        type.dtype() != DType::kF32) {
      continue;
    }
    int64_t of_row = 1;
    for (int axis = 1; axis < type.rank(); ++axis) {
      of_row *= type.dim(axis).is_constant() ? type.dim(axis).constant() : 0;
    }
    for (int64_t at = 0; at < of_row; ++at) {
      if (static_cast<int64_t>(names.size()) == settings.max_features) break;
      names.push_back(of_row == 1 ? argument.name : fmt::format("{}[{}]", argument.name, at));
      numbers_.push_back({j, of_row, at});
    }
  }
  drift_ = std::make_unique<DriftMonitor>(settings, names);
}

void LogApplier::AddToDrift(std::span<const FeedValue> feeds, size_t row, float prediction,
                            float label) {
  row_numbers_.clear();
  for (const FeatureNumber& number : numbers_) {
    const auto* values = static_cast<const float*>(feeds[number.argument].tensor.data);
    row_numbers_.push_back(values[static_cast<int64_t>(row) * number.of_row + number.at]);
  }
  drift_->Add(prediction, label, row_numbers_);
}

void LogApplier::Predict(std::span<const FeedValue> feeds, State& state) {
  const auto& rows = batches_.rows();
  const bool all_known = std::none_of(rows.begin(), rows.end(),
                                      [](const auto& row) { return std::isnan(row.prediction); });
  RunResult result;
  infer_feeds_.clear();
  for (const size_t j : infer_arguments_) infer_feeds_.push_back(feeds[j]);
  if (!all_known && infer_ && progressive_) {
    try {
      result = infer_->Run(state, infer_feeds_);
    } catch (const std::exception& error) {
      // A measurement that the data spoils must not decide what is learned: a replay does not make
      // it. What else goes wrong would go wrong in the step too.
      if (!IsOfTheData(error)) throw;
    }
  }
  const bool usable = IsUsable(result, rows.size());
  predictions_.clear();
  for (size_t r = 0; r < rows.size(); ++r) {
    const bool known = !std::isnan(rows[r].prediction);
    predictions_.push_back(known    ? rows[r].prediction
                           : usable ? result.outputs[0].data<float>()[r]
                                    : std::numeric_limits<float>::quiet_NaN());
  }
}

void LogApplier::MeasurePredictions(std::span<const FeedValue> feeds) {
  const auto& rows = batches_.rows();
  for (size_t r = 0; r < rows.size(); ++r) {
    window_.Add(predictions_[r], rows[r].label, rows[r].weight);
    if (drift_->on()) AddToDrift(feeds, r, predictions_[r], rows[r].label);
  }
  if (frozen_ && infer_ && frozen_steps_++ % frozen_every_ == 0) MeasureFrozen();
}

void LogApplier::Freeze(std::shared_ptr<State> state) { frozen_ = std::move(state); }

void LogApplier::MeasureFrozen() {
  const auto& rows = batches_.rows();
  RunResult result;
  try {
    result = infer_->Run(*frozen_, infer_feeds_);
  } catch (const std::exception&) {
    return;  // the step has been taken, whatever is measured
  }
  if (!IsUsable(result, rows.size())) return;
  const auto frozen = result.outputs[0].data<float>();
  for (size_t r = 0; r < rows.size(); ++r) {
    if (std::isnan(predictions_[r]) || std::isnan(frozen[r])) continue;
    frozen_window_.Add(frozen[r], rows[r].label, rows[r].weight);
    frozen_live_window_.Add(predictions_[r], rows[r].label, rows[r].weight);
  }
}

LearningFrozen LogApplier::frozen() const {
  if (!frozen_) return {};
  const LearningWindow frozen = frozen_window_.Values(), live = frozen_live_window_.Values();
  return {frozen.examples, frozen_->step(), frozen.auc, frozen.log_loss, live.auc, live.log_loss};
}

StepOutcome LogApplier::Learn(const StreamAction& action, State& state) {
  batches_.Read(action.examples, stream_, read_);
  StepOutcome outcome;
  std::span<const FeedValue> feeds;
  try {
    feeds = batches_.Feed();
    if (feeds.empty()) Fail(ErrorCode::kBadData, "none of its examples fits this program");
    Predict(feeds, state);
    RunOptions run;
    run.breathes = true;
    run.event_time = action.time_ns;
    const RunStatus status = train_->Run(state, feeds, results_->buffers(), run);
    outcome.trained = status.committed;
    outcome.refused = status.refused;
    outcome.unwritten = status.unwritten;
    if (!results_->names().empty()) outcome.loss = results_->value(0);
    if (status.refused) outcome.why = fmt::format("{}; the loss is {}", status.why, outcome.loss);
  } catch (const std::exception& error) {
    if (!IsOfTheData(error)) throw;
    outcome.refused = true;
    outcome.why = error.what();
  }
  if (!feeds.empty()) MeasurePredictions(feeds);
  if (outcome.refused) stream_.NoteRefusal(action.step.number);
  return outcome;
}

}  // namespace catamaran

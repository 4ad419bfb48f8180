// Predictions of batches, and how well they fit.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/train/evaluator.h"

namespace catamaran {
namespace {

std::vector<MetricKind> ParseMetrics(const std::vector<std::string>& names) {
  std::vector<MetricKind> kinds;
  for (const std::string& name : names) {
    const std::optional<MetricKind> kind = ParseMetric(name);
    if (!kind) {
      const std::vector<std::string_view> known = MetricNames();
      const std::string near = Suggest(name, known);
      Fail("there is no metric {}{}; there are {}", name,
           near.empty() ? "" : "; did you mean " + near + "?", fmt::join(known, ", "));
    }
    kinds.push_back(*kind);
  }
  return kinds;
}

const Function& LabelledFunction(const Program& flat, const EntryPoints& entry) {
  return *flat.items.FindFunction(entry.evaluate.empty() ? entry.train : entry.evaluate);
}

int ArgumentIndex(const Function& f, std::string_view name) {
  for (int i = 0; i < f.num_params(); ++i) {
    if (f.param(i)->name == name) return i;
  }
  return -1;
}

}  // namespace

Scorer::Scorer(const Program& flat, const EntryPoints& entry, const Schema& schema,
               const ScorerOptions& options) {
  if (entry.infer.empty() || entry.labels.empty()) {
    if (options.metrics.empty()) return;
    Fail("{}: {} needs predictions and labels, but the program has {}", flat.name,
         fmt::join(options.metrics, ", "),
         entry.infer.empty() ? "no function infer" : "no argument that infer lacks");
  }
  const Function& labelled = LabelledFunction(flat, entry);
  MakePairs(flat, entry, options, labelled);
  if (pairs_.empty()) return;
  const Function& infer = *flat.items.FindFunction(entry.infer);
  infer_ = Compile(flat, entry.infer, options.compile);
  infer_binding_ = std::make_unique<FeedBinding>(flat, infer, schema, options.feed);
  infer_feeder_ = std::make_unique<Feeder>(*infer_binding_);

  // Of the labelled function only labels and weights are fed.
  FeedOptions feed = options.feed;
  for (int i = 0; i < labelled.num_params(); ++i) {
    const std::string& name = labelled.param(i)->name;
    const bool label =
        std::find(entry.labels.begin(), entry.labels.end(), name) != entry.labels.end();
    if (name == kWeightArgument) {
      weight_ = static_cast<size_t>(i);
    } else if (!label) {
      feed.given.insert(name);
    }
  }
  label_binding_ = std::make_unique<FeedBinding>(flat, labelled, schema, feed);
  label_feeder_ = std::make_unique<Feeder>(*label_binding_);
  if (weight_ && label_binding_->arguments()[*weight_].ones) weight_.reset();
  if (weight_ && label_binding_->arguments()[*weight_].type.dtype() != DType::kF32) weight_.reset();
}

// The only label goes with the first result; several labels with as many results, in order.
void Scorer::MakePairs(const Program& flat, const EntryPoints& entry, const ScorerOptions& options,
                       const Function& labelled) {
  const std::vector<MetricKind> asked = ParseMetrics(options.metrics);
  const Function& infer = *flat.items.FindFunction(entry.infer);
  const size_t results = infer.results.size();
  const size_t labels = entry.labels.size();
  const size_t pairs = labels == 1 ? 1 : labels == results ? labels : 0;
  if (pairs == 0 && !asked.empty()) {
    Fail("{}: {} results of {} and {} labels ({}): which belong together is not clear", flat.name,
         results, entry.infer, labels, fmt::join(entry.labels, ", "));
  }
  for (size_t k = 0; k < pairs; ++k) {
    const int argument = ArgumentIndex(labelled, entry.labels[k]);
    const Type& label = labelled.param(argument)->type;
    const Type& prediction = infer.results[k].type;
    std::vector<MetricKind> kinds = asked;
    if (asked.empty()) {
      kinds = DefaultMetrics(flat, infer, static_cast<int>(k), label);
      if (kinds.empty()) continue;
    }
    for (const MetricKind kind : kinds) {
      const std::string problem = MetricProblem(kind, prediction, label);
      if (!problem.empty()) Fail("metric {} of {}: {}", MetricName(kind), entry.labels[k], problem);
    }
    const std::string prefix = pairs > 1 ? entry.labels[k] + "." : "";
    pairs_.push_back({k, static_cast<size_t>(argument), PredictionMetrics(kinds, prefix)});
  }
}

void Scorer::Predict(State& state, const RowBlock& rows) {
  if (!pairs_.empty()) predictions_ = infer_->Run(state, infer_feeder_->Feed(rows)).outputs;
}

void Scorer::Score(const RowBlock& rows) {
  if (pairs_.empty()) return;
  const std::span<FeedValue> labels = label_feeder_->Feed(rows);
  const float* weight = weight_ ? labels[*weight_].tensor.As<float>() : nullptr;
  for (Pair& pair : pairs_) {
    pair.metrics.Add(predictions_[pair.result].view(), labels[pair.label].tensor, weight);
  }
}

void Scorer::AppendValues(MetricValues& values) const {
  for (const Pair& pair : pairs_) pair.metrics.AppendValues(values);
}

void Scorer::Clear() {
  for (Pair& pair : pairs_) pair.metrics.Clear();
}

std::string Scorer::Save() const {
  std::string bytes;
  for (const Pair& pair : pairs_) {
    const std::string one = pair.metrics.Save();
    const uint64_t size = one.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += one;
  }
  return bytes;
}

void Scorer::Load(std::string_view bytes) {
  for (Pair& pair : pairs_) {
    uint64_t size = 0;
    if (bytes.size() < sizeof(size))
      Fail(ErrorCode::kStorage, "metrics of a run that goes on: damaged");
    std::copy_n(bytes.data(), sizeof(size), reinterpret_cast<char*>(&size));
    bytes.remove_prefix(sizeof(size));
    if (bytes.size() < size) Fail(ErrorCode::kStorage, "metrics of a run that goes on: damaged");
    pair.metrics.Load(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
}

}  // namespace catamaran

// train/evaluator.h
//
// How good a state is on some rows. An Evaluator takes batches and keeps averages of what the
// program's own function says (its results that are numbers, by rows: loss and metrics), and
// metrics of its predictions against the labels (metrics.h). A Scorer is the latter alone; the
// predictions of a batch are made from the newest published version of the state.
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
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"
#include "catamaran/train/metrics.h"
#include "catamaran/train/scalar_results.h"

namespace catamaran {

struct ScorerOptions {
  // Names of metrics.h; none: those that suit.
  std::vector<std::string> metrics;
  FeedOptions feed;
  CompileOptions compile;
};

class Scorer {
 public:
  // An Error if the program has no `infer` or labels, or a metric that was asked for makes no
  // sense. Without metrics that were asked for there may be none in the end (empty()).
  Scorer(const Program& flat, const EntryPoints& entry, const Schema& schema,
         const ScorerOptions& options);

  bool empty() const { return pairs_.empty(); }
  // Predicts the rows, and measures the predictions; or in two steps, so that what fails in between
  // has measured nothing.
  void Add(State& state, const RowBlock& rows) {
    Predict(state, rows);
    Score(rows);
  }
  void Predict(State& state, const RowBlock& rows);
  void Score(const RowBlock& rows);
  void AppendValues(MetricValues& values) const;
  int64_t rows() const { return pairs_.empty() ? 0 : pairs_[0].metrics.rows(); }
  void Clear();
  std::string Save() const;
  void Load(std::string_view bytes);

 private:
  // A result of infer and the label that it is about.
  struct Pair {
    size_t result = 0;
    size_t label = 0;  // index in the arguments of the labelled function
    PredictionMetrics metrics;
  };
  void MakePairs(const Program& flat, const EntryPoints& entry, const ScorerOptions& options,
                 const Function& labelled);

  std::shared_ptr<const Executable> infer_;
  std::unique_ptr<FeedBinding> infer_binding_, label_binding_;
  std::unique_ptr<Feeder> infer_feeder_, label_feeder_;
  std::optional<size_t> weight_;  // index in the arguments of the labelled function
  std::vector<Pair> pairs_;
  std::vector<Tensor> predictions_;  // of the rows that were predicted last
};

class Evaluator {
 public:
  // An Error if the program has neither a function that evaluates nor `infer` and labels.
  Evaluator(const Program& flat, const EntryPoints& entry, const Schema& schema,
            const ScorerOptions& options);

  void Add(State& state, const RowBlock& rows);
  // "loss", the others of the program, then those of the predictions.
  MetricValues Values() const;
  int64_t rows() const { return rows_; }
  void Clear();

 private:
  std::shared_ptr<const Executable> evaluate_;
  std::unique_ptr<FeedBinding> binding_;
  std::unique_ptr<Feeder> feeder_;
  std::unique_ptr<ScalarResults> results_;
  RowAverages averages_;
  bool perplexity_ = false;
  std::unique_ptr<Scorer> scorer_;
  int64_t rows_ = 0;
};

}  // namespace catamaran

// train/evaluator.cc

#include "catamaran/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "catamaran/base/error.h"

namespace catamaran {

Evaluator::Evaluator(const Program& flat, const EntryPoints& entry, const Schema& schema,
                     const ScorerOptions& options) {
  ScorerOptions scorer = options;
  perplexity_ = std::erase(scorer.metrics, "perplexity") > 0;
  // What the program gives by itself needs no asking for.
  if (!entry.evaluate.empty()) {
    const Function& f = *flat.items.FindFunction(entry.evaluate);
    evaluate_ = Compile(flat, entry.evaluate, options.compile);
    binding_ = std::make_unique<FeedBinding>(flat, f, schema, options.feed);
    feeder_ = std::make_unique<Feeder>(*binding_);
    results_ = std::make_unique<ScalarResults>(*evaluate_);
    std::erase_if(scorer.metrics, [&](const std::string& name) {
      const auto& names = results_->names();
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  }
  const bool only_own = scorer.metrics.empty() && !options.metrics.empty();
  if (!only_own) {
    scorer_ = std::make_unique<Scorer>(flat, entry, schema, scorer);
    if (scorer_->empty()) scorer_.reset();
  }
  if (!evaluate_ && !scorer_) {
    Fail(ErrorCode::kInvalidProgram,
         "{} cannot be evaluated: it has neither a function loss or evaluate, nor infer and an "
         "argument of train that infer lacks",
         flat.name);
  }
}

void Evaluator::Add(State& state, const RowBlock& rows) {
  rows_ += rows.rows();
  if (evaluate_) {
    evaluate_->Run(state, feeder_->Feed(rows), results_->buffers());
    for (size_t k = 0; k < results_->names().size(); ++k) {
      averages_.Add(k, results_->value(k), rows.rows());
    }
  }
  if (scorer_) scorer_->Add(state, rows);
}

MetricValues Evaluator::Values() const {
  MetricValues values;
  if (evaluate_) {
    for (size_t k = 0; k < results_->names().size(); ++k) {
      values.emplace_back(results_->names()[k], averages_.value(k));
    }
    if (perplexity_ && !values.empty()) {
      values.emplace_back("perplexity", std::exp(values[0].second));
    }
  }
  if (scorer_) {
    MetricValues more;
    scorer_->AppendValues(more);
    for (auto& [name, value] : more) {
      // The program's own word for something counts.
      if (FindMetric(values, name) == nullptr) values.emplace_back(name, value);
    }
  }
  return values;
}

void Evaluator::Clear() {
  averages_.Clear();
  rows_ = 0;
  if (scorer_) scorer_->Clear();
}

}  // namespace catamaran

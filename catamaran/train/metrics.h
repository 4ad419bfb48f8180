// train/metrics.h
//
// How well predictions fit labels, over any number of batches: exact, in double precision, in the
// order of the rows.
//
//   auc        area under the ROC curve; labels from 0 to 1; keeps all predictions
//   log_loss   mean of -log of the probability of what happened; predictions are probabilities
//   accuracy   of f32[B]: prediction > 0.5 as label > 0.5; of [B, C]: argmax is the label
//   rmse, mae  root of the mean squared, mean absolute difference
//
// Where rows have weights, all are weighted.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catamaran/ir/program.h"
#include "catamaran/tensor/tensor_view.h"

namespace catamaran {

// Names and values, in the order in which they are shown.
using MetricValues = std::vector<std::pair<std::string, double>>;
// Null if there is none of that name.
const double* FindMetric(const MetricValues& values, std::string_view name);

enum class MetricKind : uint8_t { kAuc, kLogLoss, kAccuracy, kRmse, kMae };
std::string_view MetricName(MetricKind kind);
std::optional<MetricKind> ParseMetric(std::string_view name);
std::vector<std::string_view> MetricNames();

// Whether more of it is better; nothing for a metric that we do not know. Knows the names above,
// with a label's name before them ("click.auc"), and loss, error, perplexity, precision, recall,
// f1.
std::optional<bool> HigherIsBetter(std::string_view name);

// The metrics that suit a prediction, by its type and how the program makes it: auc, log_loss and
// accuracy of what a sigmoid gives; accuracy of [B, C] and whole labels; rmse of other f32[B].
std::vector<MetricKind> DefaultMetrics(const Program& flat, const Function& infer, int result,
                                       const Type& label);

// Why this metric makes no sense of a prediction and a label of these types; empty: it does.
std::string MetricProblem(MetricKind kind, const Type& prediction, const Type& label);

class PredictionMetrics {
 public:
  // REQUIRES: MetricProblem is empty for all of them. Names get `prefix` before them.
  PredictionMetrics(std::vector<MetricKind> kinds, std::string prefix = "");

  // `weight` has one number a row, or is null. An Error if prediction and label are not of the same
  // rows, or a label is no class.
  void Add(const TensorView& prediction, const TensorView& label, const float* weight);
  void AppendValues(MetricValues& values) const;
  void Clear();
  int64_t rows() const { return rows_; }

  // All that it has been given, as bytes: a PredictionMetrics of the same kinds goes on from them.
  std::string Save() const;
  // An Error if the bytes are not such.
  void Load(std::string_view bytes);

 private:
  bool Has(MetricKind kind) const;
  void AddClasses(const TensorView& prediction, const TensorView& label, const float* weight);
  void AddNumbers(const TensorView& prediction, const TensorView& label, const float* weight);

  const std::vector<MetricKind> kinds_;
  const std::string prefix_;
  int64_t rows_ = 0;
  struct Sums {
    double weight = 0, log_loss = 0, right = 0, squared = 0, absolute = 0;
  } sums_;
  // For auc.
  std::vector<float> predictions_, labels_, weights_;
};

// The area under the ROC curve, ties counted half; NaN unless there are labels of both kinds.
// `weights` may be empty.
double ExactAuc(const std::vector<float>& predictions, const std::vector<float>& labels,
                const std::vector<float>& weights);

// Averages of numbers over rows.
class RowAverages {
 public:
  void Add(size_t i, double value, int64_t rows);
  bool empty() const { return sums_.empty(); }
  // NaN where there were no rows.
  double value(size_t i) const;
  int64_t rows(size_t i) const { return i < sums_.size() ? sums_[i].rows : 0; }
  void Clear() { sums_.clear(); }
  struct Sum {
    double sum = 0;
    int64_t rows = 0;
  };
  const std::vector<Sum>& sums() const { return sums_; }
  void set_sums(std::vector<Sum> sums) { sums_ = std::move(sums); }

 private:
  std::vector<Sum> sums_;
};

}  // namespace catamaran

// How predictions are counted.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "catamaran/base/error.h"
#include "catamaran/tensor/cast.h"
#include "catamaran/train/metrics.h"

namespace catamaran {
namespace {

// As many numbers of one type, converted if need be; `memory` holds them then.
template <class T>
std::span<const T> As(const TensorView& view, std::vector<T>& memory) {
  const auto count = static_cast<size_t>(view.num_elements());
  if (view.dtype == DTypeOf<T>) return {static_cast<const T*>(view.data), count};
  memory.resize(count);
  CastInto(view, {memory.data(), DTypeOf<T>, view.shape});
  return memory;
}

template <class T>
void Put(std::string& bytes, const T* values, size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <class T>
void Take(std::string_view& bytes, T* values, size_t count) {
  if (bytes.size() / sizeof(T) < count)
    Fail(ErrorCode::kStorage, "metrics of a run that goes on: the bytes end too early");
  if (count > 0) std::memcpy(values, bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
}

}  // namespace

double ExactAuc(const std::vector<float>& predictions, const std::vector<float>& labels,
                const std::vector<float>& weights) {
  std::vector<uint32_t> order(predictions.size());
  std::iota(order.begin(), order.end(), 0u);
  for (const float p : predictions) {
    if (std::isnan(p)) return NAN;
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return predictions[a] < predictions[b]; });
  double below = 0, positives = 0, right = 0;
  for (size_t i = 0; i < order.size();) {
    double positive = 0, negative = 0;  // of equal predictions
    const float at = predictions[order[i]];
    for (; i < order.size() && predictions[order[i]] == at; ++i) {
      const double w = weights.empty() ? 1.0 : weights[order[i]];
      positive += w * labels[order[i]];
      negative += w * (1 - labels[order[i]]);
    }
    right += positive * (below + negative / 2);
    below += negative;
    positives += positive;
  }
  return right / (below * positives);
}

PredictionMetrics::PredictionMetrics(std::vector<MetricKind> kinds, std::string prefix)
    : kinds_(std::move(kinds)), prefix_(std::move(prefix)) {}

bool PredictionMetrics::Has(MetricKind kind) const {
  return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

void PredictionMetrics::Add(const TensorView& prediction, const TensorView& label,
                            const float* weight) {
  if (prediction.shape == label.shape) {
    AddNumbers(prediction, label, weight);
  } else {
    AddClasses(prediction, label, weight);
  }
  rows_ += label.shape.rank() == 0 ? 1 : label.shape[0];
}

void PredictionMetrics::AddNumbers(const TensorView& prediction, const TensorView& label,
                                   const float* weight) {
  std::vector<float> a, b;
  const auto p = As<float>(prediction, a);
  const auto y = As<float>(label, b);
  const size_t rows = label.shape.rank() == 0 ? 1 : static_cast<size_t>(label.shape[0]);
  const size_t each = rows == 0 ? 1 : p.size() / rows;
  constexpr double kLeast = 1e-15;  // so that one certain mistake is not infinite
  for (size_t i = 0; i < p.size(); ++i) {
    const double w = weight == nullptr ? 1.0 : weight[i / each];
    const double probability = std::clamp<double>(p[i], kLeast, 1 - kLeast);
    const double difference = static_cast<double>(p[i]) - y[i];
    sums_.weight += w;
    sums_.log_loss -= w * (y[i] * std::log(probability) + (1 - y[i]) * std::log1p(-probability));
    sums_.right += (p[i] > 0.5f) == (y[i] > 0.5f) ? w : 0;
    sums_.squared += w * difference * difference;
    sums_.absolute += w * std::abs(difference);
  }
  if (!Has(MetricKind::kAuc)) return;
  predictions_.insert(predictions_.end(), p.begin(), p.end());
  labels_.insert(labels_.end(), y.begin(), y.end());
  if (weight == nullptr) return;
  for (size_t i = 0; i < p.size(); ++i) weights_.push_back(weight[i / each]);
}

void PredictionMetrics::AddClasses(const TensorView& prediction, const TensorView& label,
                                   const float* weight) {
  std::vector<float> a;
  std::vector<int64_t> b;
  const auto p = As<float>(prediction, a);
  const auto y = As<int64_t>(label, b);
  const size_t classes = y.empty() ? 0 : p.size() / y.size();
  if (p.size() != y.size() * classes) {
    Fail("accuracy: {} predictions do not fit {} labels", prediction.shape.ToString(),
         label.shape.ToString());
  }
  const size_t rows = label.shape.rank() == 0 ? 1 : static_cast<size_t>(label.shape[0]);
  const size_t each = rows == 0 ? 1 : y.size() / rows;
  for (size_t i = 0; i < y.size(); ++i) {
    const float* begin = p.data() + i * classes;
    const auto best = std::max_element(begin, begin + classes) - begin;
    const double w = weight == nullptr ? 1.0 : weight[i / each];
    sums_.weight += w;
    sums_.right += best == y[i] ? w : 0;
  }
}

void PredictionMetrics::AppendValues(MetricValues& values) const {
  for (const MetricKind kind : kinds_) {
    double value = NAN;
    const double weight = sums_.weight;
    switch (kind) {
      case MetricKind::kAuc:
        value = ExactAuc(predictions_, labels_, weights_);
        break;
      case MetricKind::kLogLoss:
        value = sums_.log_loss / weight;
        break;
      case MetricKind::kAccuracy:
        value = sums_.right / weight;
        break;
      case MetricKind::kRmse:
        value = std::sqrt(sums_.squared / weight);
        break;
      case MetricKind::kMae:
        value = sums_.absolute / weight;
        break;
    }
    values.emplace_back(prefix_ + std::string(MetricName(kind)), value);
  }
}

void PredictionMetrics::Clear() {
  rows_ = 0;
  sums_ = {};
  predictions_.clear();
  labels_.clear();
  weights_.clear();
}

std::string PredictionMetrics::Save() const {
  std::string bytes;
  const uint64_t counts[] = {static_cast<uint64_t>(rows_), predictions_.size(), weights_.size()};
  Put(bytes, counts, 3);
  Put(bytes, &sums_, 1);
  Put(bytes, predictions_.data(), predictions_.size());
  Put(bytes, labels_.data(), labels_.size());
  Put(bytes, weights_.data(), weights_.size());
  return bytes;
}

void PredictionMetrics::Load(std::string_view bytes) {
  uint64_t counts[3];
  Take(bytes, counts, 3);
  Take(bytes, &sums_, 1);
  if (counts[1] > bytes.size() || counts[2] > bytes.size())
    Fail(ErrorCode::kStorage, "metrics of a run: damaged");
  rows_ = static_cast<int64_t>(counts[0]);
  predictions_.resize(counts[1]);
  labels_.resize(counts[1]);
  weights_.resize(counts[2]);
  Take(bytes, predictions_.data(), predictions_.size());
  Take(bytes, labels_.data(), labels_.size());
  Take(bytes, weights_.data(), weights_.size());
  if (!bytes.empty())
    Fail(ErrorCode::kStorage, "metrics of a run that goes on: {} bytes too many", bytes.size());
}

void RowAverages::Add(size_t i, double value, int64_t rows) {
  if (i >= sums_.size()) sums_.resize(i + 1);
  sums_[i].sum += value * static_cast<double>(rows);
  sums_[i].rows += rows;
}

double RowAverages::value(size_t i) const {
  if (i >= sums_.size() || sums_[i].rows == 0) return NAN;
  return sums_[i].sum / static_cast<double>(sums_[i].rows);
}

}  // namespace catamaran

// ops/loss/sampled_reference.h
//
// What sampled_logits, sampled_softmax and nce mean.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

struct SampledSizes {
  int64_t batch, width, classes, samples, remove_hits;
};

// In place of the logit of a sample that is the label itself: no probability, and finite.
constexpr double kSampledHit = -1e30;

// Row n: the logit of the label, then those of the samples. bias and counts may be null.
template <class T, class I>
void SampledRow(const T* hidden, const T* weight, const I* labels, const I* sampled, const T* bias,
                const T* label_counts, const T* counts, int64_t n, T* row, const SampledSizes& s) {
  const int64_t label = static_cast<int64_t>(labels[n]);
  for (int64_t k = 0; k <= s.samples; ++k) {
    const int64_t id = k == 0 ? label : static_cast<int64_t>(sampled[k - 1]);
    const T* count =
        k == 0 ? (label_counts ? label_counts + n : nullptr) : (counts ? counts + k - 1 : nullptr);
    if (k > 0 && s.remove_hits && id == label) {
      row[k] = static_cast<T>(kSampledHit);
      continue;
    }
    double sum = bias ? static_cast<double>(bias[id]) : 0.0;
    for (int64_t i = 0; i < s.width; ++i) {
      sum += static_cast<double>(hidden[n * s.width + i]) *
             static_cast<double>(weight[id * s.width + i]);
    }
    if (count) sum -= std::log(static_cast<double>(*count));
    row[k] = static_cast<T>(sum);
  }
}

template <class T, class I>
void SampledLogits(const T* hidden, const T* weight, const I* labels, const I* sampled,
                   const T* bias, const T* label_counts, const T* counts, T* y,
                   const SampledSizes& s) {
  for (int64_t n = 0; n < s.batch; ++n, y += s.samples + 1) {
    SampledRow(hidden, weight, labels, sampled, bias, label_counts, counts, n, y, s);
  }
}

// The cross entropy of a row of logits with its first class as the label.
template <class T>
T SampledSoftmaxOfRow(const T* row, int64_t samples) {
  T max = row[0];
  for (int64_t k = 1; k <= samples; ++k) max = std::max(max, row[k]);
  double sum = 0;
  for (int64_t k = 0; k <= samples; ++k) sum += std::exp(static_cast<double>(row[k] - max));
  return max + static_cast<T>(std::log(sum)) - row[0];
}

// The binary cross entropies of a row: the first is a positive, the others are negatives.
template <class T>
T NceOfRow(const T* row, int64_t samples) {
  double sum = 0;
  for (int64_t k = 0; k <= samples; ++k) {
    const double x = static_cast<double>(k == 0 ? -row[k] : row[k]);
    sum += std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  }
  return static_cast<T>(sum);
}

// `row` has room for samples + 1 numbers.
template <class T, class I>
void SampledSoftmax(const T* hidden, const T* weight, const I* labels, const I* sampled,
                    const T* bias, const T* label_counts, const T* counts, T* y, T* row,
                    const SampledSizes& s) {
  for (int64_t n = 0; n < s.batch; ++n) {
    SampledRow(hidden, weight, labels, sampled, bias, label_counts, counts, n, row, s);
    y[n] = SampledSoftmaxOfRow(row, s.samples);
  }
}

template <class T, class I>
void Nce(const T* hidden, const T* weight, const I* labels, const I* sampled, const T* bias,
         const T* label_counts, const T* counts, T* y, T* row, const SampledSizes& s) {
  for (int64_t n = 0; n < s.batch; ++n) {
    SampledRow(hidden, weight, labels, sampled, bias, label_counts, counts, n, row, s);
    y[n] = NceOfRow(row, s.samples);
  }
}

}  // namespace catamaran::reference
// reference-end

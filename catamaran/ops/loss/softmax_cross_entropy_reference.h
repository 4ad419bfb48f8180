// ops/loss/softmax_cross_entropy_reference.h
//
// What softmax_cross_entropy, its gradient and smooth_labels mean. Labels are class numbers, or
// (the overloads with labels of type T) a weight for each class.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

// A row whose label is `ignored` counts nothing.
struct CrossEntropySizes {
  int64_t rows, width;
  double smoothing;
  int64_t ignored;
};

// The target of class j: smoothing spreads a part of it evenly over all classes.
template <class T, class I>
T CrossEntropyTarget(T, const I* labels, int64_t row, int64_t j, const CrossEntropySizes& s) {
  const int64_t label = static_cast<int64_t>(labels[row]);
  if (label == s.ignored) return T(0);
  const double spread = s.smoothing / static_cast<double>(s.width);
  return static_cast<T>((label == j ? 1 - s.smoothing : 0.0) + spread);
}
template <class T>
T CrossEntropyTarget(T, const T* labels, int64_t row, int64_t j, const CrossEntropySizes& s) {
  const T spread = static_cast<T>(s.smoothing / static_cast<double>(s.width));
  return static_cast<T>(1 - s.smoothing) * labels[row * s.width + j] + spread;
}

template <class T, class L>
void SmoothLabels(const L* labels, const T*, T* y, const CrossEntropySizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int64_t j = 0; j < s.width; ++j) {
      y[r * s.width + j] = CrossEntropyTarget(T(0), labels, r, j, s);
    }
  }
}

// log(sum(exp(x))).
template <class T>
T LossLogSumExp(const T* x, int64_t width) {
  T max = static_cast<T>(-INFINITY);
  for (int64_t i = 0; i < width; ++i) max = x[i] > max || x[i] != x[i] ? x[i] : max;
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(x[i] - max));
  return max + static_cast<T>(std::log(sum));
}

// Classes without weight or target do not matter, however unlikely they are. `weights` may be
// null: all 1.
template <class T, class L>
void SoftmaxCrossEntropy(const T* logits, const L* labels, const T* weights, T* y,
                         const CrossEntropySizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, logits += s.width) {
    const T total = LossLogSumExp(logits, s.width);
    double sum = 0;
    for (int64_t j = 0; j < s.width; ++j) {
      T target = CrossEntropyTarget(T(0), labels, r, j, s);
      if (weights) target *= weights[j];
      if (target != T(0)) sum += static_cast<double>(target * (total - logits[j]));
    }
    y[r] = static_cast<T>(sum);
  }
}
template <class T, class L>
void SoftmaxCrossEntropy(const T* logits, const L* labels, T* y, const CrossEntropySizes& s) {
  SoftmaxCrossEntropy(logits, labels, static_cast<const T*>(nullptr), y, s);
}

template <class T, class L>
void SoftmaxCrossEntropyGrad(const T* logits, const L* labels, const T* dy, const T* weights, T* dx,
                             const CrossEntropySizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, logits += s.width, dx += s.width) {
    const T total = LossLogSumExp(logits, s.width);
    double mass = 0;
    for (int64_t j = 0; j < s.width; ++j) {
      dx[j] = CrossEntropyTarget(T(0), labels, r, j, s);
      if (weights) dx[j] *= weights[j];
      mass += static_cast<double>(dx[j]);
    }
    for (int64_t j = 0; j < s.width; ++j) {
      const T p = mass == 0 ? T(0) : static_cast<T>(mass) * std::exp(logits[j] - total);
      dx[j] = dy[r] * (p - dx[j]);
    }
  }
}
template <class T, class L>
void SoftmaxCrossEntropyGrad(const T* logits, const L* labels, const T* dy, T* dx,
                             const CrossEntropySizes& s) {
  SoftmaxCrossEntropyGrad(logits, labels, dy, static_cast<const T*>(nullptr), dx, s);
}

}  // namespace catamaran::reference
// reference-end

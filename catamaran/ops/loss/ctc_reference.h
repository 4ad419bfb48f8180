// ops/loss/ctc_reference.h
//
// Connectionist temporal classification in log space. The states of an utterance with labels
// l0 l1 … are: blank l0 blank l1 … blank; each step stays, goes on by one, or skips the blank
// between two labels that differ.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

// log_probs are [steps, batch, classes], or [batch, steps, classes] where batch_first is not 0;
// labels are [batch, labels].
struct CtcSizes {
  int64_t steps, batch, classes, labels, blank, zero_infinity, batch_first;
};

// log(exp(a) + exp(b)).
inline double CtcAdd(double a, double b) {
  if (a == -INFINITY) return b;
  if (b == -INFINITY) return a;
  return (a > b ? a : b) + std::log1p(std::exp(-std::fabs(a - b)));
}

// One utterance: `count` labels over `steps` rows that lie `stride` elements apart.
template <class T, class I>
struct CtcItem {
  const T* log_probs;
  int64_t stride, steps;
  const I* labels;
  int64_t count, blank;

  int64_t width() const { return 2 * count + 1; }
  int64_t Class(int64_t state) const {
    return state % 2 == 0 ? blank : static_cast<int64_t>(labels[state / 2]);
  }
  bool CanSkipTo(int64_t state) const {
    return state % 2 == 1 && state >= 3 && labels[state / 2] != labels[state / 2 - 1];
  }
  double At(int64_t step, int64_t state) const {
    return static_cast<double>(log_probs[step * stride + Class(state)]);
  }
};

// The logarithm of the probability of all paths; -infinity where there is none. Row t of the
// forward sums is left in alpha[t % keep], keep >= 2.
template <class T, class I>
double CtcForward(const CtcItem<T, I>& item, double* alpha, int64_t keep) {
  const int64_t width = item.width();
  if (item.steps == 0) return item.count == 0 ? 0.0 : -INFINITY;
  for (int64_t t = 0; t < item.steps; ++t) {
    double* now = alpha + t % keep * width;
    const double* before = alpha + (t + keep - 1) % keep * width;
    for (int64_t s = 0; s < width; ++s) {
      double sum = t == 0 && s < 2 ? 0.0 : -INFINITY;
      if (t > 0) {
        sum = before[s];
        if (s >= 1) sum = CtcAdd(sum, before[s - 1]);
        if (item.CanSkipTo(s)) sum = CtcAdd(sum, before[s - 2]);
      }
      now[s] = sum + item.At(t, s);
    }
  }
  const double* last = alpha + (item.steps - 1) % keep * width;
  return width == 1 ? last[0] : CtcAdd(last[width - 1], last[width - 2]);
}

// dx += scale * d log(probability) / d log_probs. `alpha` has room for steps + 2 rows. Nothing
// where there is no path.
template <class T, class I>
void CtcBackward(const CtcItem<T, I>& item, double scale, double* alpha, T* dx) {
  const int64_t width = item.width();
  const double total = CtcForward(item, alpha, std::max<int64_t>(2, item.steps));
  if (total == -INFINITY) return;
  double* beta = alpha + std::max<int64_t>(2, item.steps) * width;  // what follows step t
  for (int64_t t = item.steps - 1; t >= 0; --t) {
    double* now = beta + t % 2 * width;
    const double* after = beta + (t + 1) % 2 * width;
    for (int64_t s = 0; s < width; ++s) {
      double sum = t == item.steps - 1 && s >= width - 2 ? 0.0 : -INFINITY;
      if (t < item.steps - 1) {
        sum = after[s] + item.At(t + 1, s);
        if (s + 1 < width) sum = CtcAdd(sum, after[s + 1] + item.At(t + 1, s + 1));
        if (s + 2 < width && item.CanSkipTo(s + 2)) {
          sum = CtcAdd(sum, after[s + 2] + item.At(t + 1, s + 2));
        }
      }
      now[s] = sum;
      const double posterior = std::exp(alpha[t * width + s] + sum - total);
      T& to = dx[t * item.stride + item.Class(s)];
      to = static_cast<T>(static_cast<double>(to) + scale * posterior);
    }
  }
}

template <class T, class I, class N>
CtcItem<T, I> CtcItemOf(const T* log_probs, const I* labels, const N* input_lengths,
                        const N* label_lengths, int64_t n, const CtcSizes& s) {
  CtcItem<T, I> item;
  item.log_probs = log_probs + n * s.classes * (s.batch_first ? s.steps : 1);
  item.stride = s.classes * (s.batch_first ? 1 : s.batch);
  item.steps = input_lengths ? static_cast<int64_t>(input_lengths[n]) : s.steps;
  item.labels = labels + n * s.labels;
  item.count = label_lengths ? static_cast<int64_t>(label_lengths[n]) : s.labels;
  item.blank = s.blank;
  return item;
}

// Null lengths: all of them are full. `scratch` has room for 2 (2 labels + 1) numbers.
template <class T, class I, class N>
void Ctc(const T* log_probs, const I* labels, const N* input_lengths, const N* label_lengths, T* y,
         double* scratch, const CtcSizes& s) {
  for (int64_t n = 0; n < s.batch; ++n) {
    const auto item = CtcItemOf(log_probs, labels, input_lengths, label_lengths, n, s);
    const double total = CtcForward(item, scratch, 2);
    y[n] = static_cast<T>(total == -INFINITY && s.zero_infinity ? 0.0 : 0.0 - total);
  }
}

// `scratch` has room for (steps + 4) (2 labels + 1) numbers.
template <class T, class I, class N>
void CtcGrad(const T* log_probs, const I* labels, const T* dy, const N* input_lengths,
             const N* label_lengths, T* dx, double* scratch, const CtcSizes& s) {
  std::fill_n(dx, s.steps * s.batch * s.classes, T(0));
  for (int64_t n = 0; n < s.batch; ++n) {
    const auto item = CtcItemOf(log_probs, labels, input_lengths, label_lengths, n, s);
    CtcBackward(item, -static_cast<double>(dy[n]), scratch, dx + (item.log_probs - log_probs));
  }
}

}  // namespace catamaran::reference
// reference-end

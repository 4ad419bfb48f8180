// table/update_rules.h
//
// The update rules of the optimizers, once: the op `update` applies them to dense parameters,
// tables to their rows. A rule changes `n` weights and their slots in place; it works element by
// element, so any split of the elements gives the same bits (rowwise_adagrad: any split into
// rows).
//
// Generated programs contain this file: plain C++17, nothing but the standard headers below, all
// functions local to the file that includes it (each instruction set has its own copy).

#pragma once

#include <cmath>
#include <cstdint>

namespace catamaran {
namespace rules {

enum class Rule : uint8_t { kSgd, kMomentum, kAdagrad, kRowwiseAdagrad, kAdam, kRmsprop };

// The hyperparameters of every rule; each uses those that table/optimizers.cc lists for it.
// Weight decay is decoupled in all of them: the weight first shrinks by lr * weight_decay of
// itself.
struct Hyper {
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double rho = 0.9;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

template <class T>
static inline void Sgd(T* __restrict w, const T* __restrict g, int64_t n, double lr,
                       const Hyper& h) {
  const T rate = static_cast<T>(lr);
  const T keep = static_cast<T>(1 - lr * h.weight_decay);
  for (int64_t i = 0; i < n; ++i) w[i] = w[i] * keep - rate * g[i];
}

// m = momentum * m + g; w -= lr * m, or with nesterov lr * (g + momentum * m).
template <class T>
static inline void Momentum(T* __restrict w, const T* __restrict g, T* __restrict m, int64_t n,
                            double lr, const Hyper& h) {
  const T rate = static_cast<T>(lr);
  const T keep = static_cast<T>(1 - lr * h.weight_decay);
  const T mu = static_cast<T>(h.momentum);
  if (h.nesterov) {
    for (int64_t i = 0; i < n; ++i) {
      m[i] = mu * m[i] + g[i];
      w[i] = w[i] * keep - rate * (g[i] + mu * m[i]);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      m[i] = mu * m[i] + g[i];
      w[i] = w[i] * keep - rate * m[i];
    }
  }
}

// a += g * g; w -= lr * g / (sqrt(a) + epsilon).
template <class T>
static inline void Adagrad(T* __restrict w, const T* __restrict g, T* __restrict a, int64_t n,
                           double lr, const Hyper& h) {
  const T rate = static_cast<T>(lr);
  const T keep = static_cast<T>(1 - lr * h.weight_decay);
  const T epsilon = static_cast<T>(h.epsilon);
  for (int64_t i = 0; i < n; ++i) {
    a[i] += g[i] * g[i];
    w[i] = w[i] * keep - rate * g[i] / (std::sqrt(a[i]) + epsilon);
  }
}

// One accumulator a row: a += mean(g * g); w -= lr * g / (sqrt(a) + epsilon).
template <class T>
static inline void RowwiseAdagrad(T* __restrict w, const T* __restrict g, T* __restrict a,
                                  int64_t rows, int64_t width, double lr, const Hyper& h) {
  const T keep = static_cast<T>(1 - lr * h.weight_decay);
  for (int64_t r = 0; r < rows; ++r, w += width, g += width) {
    T squares = T(0);
    for (int64_t i = 0; i < width; ++i) squares += g[i] * g[i];
    if (width > 0) a[r] += squares / static_cast<T>(width);
    const T rate = static_cast<T>(lr) / (std::sqrt(a[r]) + static_cast<T>(h.epsilon));
    for (int64_t i = 0; i < width; ++i) w[i] = w[i] * keep - rate * g[i];
  }
}

// m and v are running means of g and g * g, corrected for their start at 0; `step` is 1 for the
// first update: w -= lr * m' / (sqrt(v') + epsilon).
template <class T>
static inline void Adam(T* __restrict w, const T* __restrict g, T* __restrict m, T* __restrict v,
                        int64_t n, double lr, int64_t step, const Hyper& h) {
  const double count = static_cast<double>(step);
  const T keep = static_cast<T>(1 - lr * h.weight_decay);
  const T b1 = static_cast<T>(h.beta1), b2 = static_cast<T>(h.beta2);
  const T c1 = static_cast<T>(1 - h.beta1), c2 = static_cast<T>(1 - h.beta2);
  const T rate = static_cast<T>(lr / (1 - std::pow(h.beta1, count)));
  const T root = static_cast<T>(1 / std::sqrt(1 - std::pow(h.beta2, count)));
  const T epsilon = static_cast<T>(h.epsilon);
  for (int64_t i = 0; i < n; ++i) {
    m[i] = b1 * m[i] + c1 * g[i];
    v[i] = b2 * v[i] + c2 * (g[i] * g[i]);
    w[i] = w[i] * keep - rate * (m[i] / (std::sqrt(v[i]) * root + epsilon));
  }
}

// v = rho * v + (1 - rho) * g * g; w -= lr * g / (sqrt(v) + epsilon).
template <class T>
static inline void Rmsprop(T* __restrict w, const T* __restrict g, T* __restrict v, int64_t n,
                           double lr, const Hyper& h) {
  const T rate = static_cast<T>(lr);
  const T keep = static_cast<T>(1 - lr * h.weight_decay);
  const T rho = static_cast<T>(h.rho), rest = static_cast<T>(1 - h.rho);
  const T epsilon = static_cast<T>(h.epsilon);
  for (int64_t i = 0; i < n; ++i) {
    v[i] = rho * v[i] + rest * (g[i] * g[i]);
    w[i] = w[i] * keep - rate * g[i] / (std::sqrt(v[i]) + epsilon);
  }
}

// Any rule on whole rows. slots[k] is the first element of slot k for these rows; a rule with
// fewer slots ignores the others.
template <class T>
static inline void Apply(Rule rule, const Hyper& h, T* w, const T* g, T* const* slots, int64_t rows,
                         int64_t width, double lr, int64_t step) {
  const int64_t n = rows * width;
  switch (rule) {
    case Rule::kSgd:
      return Sgd(w, g, n, lr, h);
    case Rule::kMomentum:
      return Momentum(w, g, slots[0], n, lr, h);
    case Rule::kAdagrad:
      return Adagrad(w, g, slots[0], n, lr, h);
    case Rule::kRowwiseAdagrad:
      return RowwiseAdagrad(w, g, slots[0], rows, width, lr, h);
    case Rule::kAdam:
      return Adam(w, g, slots[0], slots[1], n, lr, step, h);
    case Rule::kRmsprop:
      return Rmsprop(w, g, slots[0], n, lr, h);
  }
}

}  // namespace rules
}  // namespace catamaran

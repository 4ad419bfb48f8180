// table/update_rules.h
//
// The update rules of the optimizers, once: the op `update` applies them to dense parameters,
// tables to their rows. A rule changes weights and their slots in place, in one pass; it works
// element by element, so any split of the elements gives the same bits. Two rules need whole rows:
// rowwise_adagrad, and lamb, which comes in two halves so that many rows can be one parameter.
//
// The numbers that an update needs (rates, corrections for the start) are computed once, in
// double, by FactorsOf; the loops then work in T. Sums are kept in 16 lanes that are added up in
// one order, so every instruction set gives the same bits.
//
// No rule makes a finite number one that is not: it would never be finite again. A weight or a slot
// whose next value is not finite (a square that is too large, an absurd rate) keeps the value that
// it has, and the rule returns true.
//
// Generated programs contain this file: plain C++17, nothing but the standard headers below, all
// functions local to the file that includes it (each instruction set has its own copy).

#pragma once

#include <cmath>
#include <cstdint>

namespace catamaran {
namespace rules {

enum class Rule : uint8_t {
  kSgd,
  kMomentum,
  kAdagrad,
  kRowwiseAdagrad,
  kAdam,
  kRmsprop,
  kAdamW,
  kAmsgrad,
  kAdadelta,
  kFtrl,
  kLion,
  kLamb,
};

// The hyperparameters of every rule; each uses those that table/optimizers.cc lists for it.
// In adamw, lion and lamb weight decay is decoupled: it moves the weight by itself. In the others
// weight_decay * w and l1 * sign(w) are added to the gradient.
struct Hyper {
  double momentum = 0.9;
  bool nesterov = false;
  bool centered = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double rho = 0.9;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double l1 = 0;
  double l2 = 0;    // ftrl
  double beta = 1;  // ftrl
};

// What one update of a rule computes with: the hyperparameters, the learning rate and the number
// of the update (1 for the first), made ready.
template <class T>
struct Factors {
  Rule rule;
  bool nesterov, centered;
  bool penalty;  // decay or l1 are added to the gradient
  T decay, l1;
  T rate;          // of the step
  T keep;          // what decoupled decay leaves of a weight
  T fade1, take1;  // running mean of g: m = fade1 * m + take1 * g
  T fade2, take2;  // running mean of g * g
  T root;          // corrects sqrt(v) for the start of v at 0
  T fix1;          // corrects m for the start at 0 (lamb; adam has it in `rate`)
  T epsilon;
  T l2, beta, inverse;  // ftrl; inverse is 1 / lr
};

template <class T>
static inline Factors<T> FactorsOf(Rule rule, const Hyper& h, double lr, int64_t step) {
  const bool decoupled = rule == Rule::kAdamW || rule == Rule::kLion || rule == Rule::kLamb;
  const bool adam =
      rule == Rule::kAdam || rule == Rule::kAdamW || rule == Rule::kAmsgrad || rule == Rule::kLamb;
  double rate = lr, root = 1, fix1 = 1;
  double fade1 = h.momentum, take1 = 1, fade2 = h.rho;
  if (adam || rule == Rule::kLion) fade1 = h.beta1, take1 = 1 - h.beta1, fade2 = h.beta2;
  if (adam) {
    const double count = static_cast<double>(step);
    fix1 = 1 / (1 - std::pow(h.beta1, count));
    root = 1 / std::sqrt(1 - std::pow(h.beta2, count));
    if (rule != Rule::kLamb) rate = lr * fix1;
  }
  Factors<T> f;
  f.rule = rule;
  f.nesterov = h.nesterov;
  f.centered = h.centered;
  f.penalty = !decoupled && rule != Rule::kFtrl && (h.weight_decay != 0 || h.l1 != 0);
  f.decay = static_cast<T>(h.weight_decay);
  f.l1 = static_cast<T>(h.l1);
  f.rate = static_cast<T>(rate);
  f.keep = static_cast<T>(decoupled ? 1 - lr * h.weight_decay : 1.0);
  f.fade1 = static_cast<T>(fade1);
  f.take1 = static_cast<T>(take1);
  f.fade2 = static_cast<T>(fade2);
  f.take2 = static_cast<T>(1 - fade2);
  f.root = static_cast<T>(root);
  f.fix1 = static_cast<T>(fix1);
  f.epsilon = static_cast<T>(h.epsilon);
  f.l2 = static_cast<T>(h.l2);
  f.beta = static_cast<T>(h.beta);
  f.inverse = static_cast<T>(lr > 0 ? 1 / lr : 0.0);
  return f;
}

// Lets finite numbers through, and remembers that there were others. A struct of one number, so
// that loops stay vectors.
struct Keep {
  int32_t kept = 0;
  template <class T>
  T operator()(T next, T now) {
    const bool finite = next - next == T(0);
    kept |= finite ? 0 : 1;
    return finite ? next : now;
  }
};

template <class T>
static inline T Sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
}

// The gradient that the rule sees.
template <bool kPenalty, class T>
static inline T Gradient(const Factors<T>& f, T g, T w) {
  if (kPenalty) return g + (f.decay * w + f.l1 * Sign(w));
  return g;
}

// w -= lr * g.
template <bool kPenalty, class T>
static inline bool Sgd(const Factors<T> f, T* __restrict w, const T* __restrict g, int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    w[i] = keep(w[i] - f.rate * Gradient<kPenalty>(f, g[i], w[i]), w[i]);
  }
  return keep.kept != 0;
}

// v = momentum * v + g; w -= lr * v, or with nesterov lr * (g + momentum * v).
template <bool kPenalty, bool kNesterov, class T>
static inline bool Momentum(const Factors<T> f, T* __restrict w, const T* __restrict g,
                            T* __restrict v, int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    const T x = Gradient<kPenalty>(f, g[i], w[i]);
    const T next = keep(f.fade1 * v[i] + x, v[i]);
    v[i] = next;
    w[i] = keep(w[i] - f.rate * (kNesterov ? x + f.fade1 * next : next), w[i]);
  }
  return keep.kept != 0;
}

// a += g * g; w -= lr * g / (sqrt(a) + epsilon).
template <bool kPenalty, class T>
static inline bool Adagrad(const Factors<T> f, T* __restrict w, const T* __restrict g,
                           T* __restrict a, int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    const T x = Gradient<kPenalty>(f, g[i], w[i]);
    const T sum = keep(a[i] + x * x, a[i]);
    a[i] = sum;
    w[i] = keep(w[i] - f.rate * x / (std::sqrt(sum) + f.epsilon), w[i]);
  }
  return keep.kept != 0;
}

constexpr int64_t kLanes = 16;

// The lanes, added up pairwise.
template <class S>
static inline S AddLanes(S* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

// One accumulator a row: a += mean(g * g); w -= lr * g / (sqrt(a) + epsilon).
template <bool kPenalty, class T>
static inline bool RowwiseAdagrad(const Factors<T> f, T* __restrict w, const T* __restrict g,
                                  T* __restrict a, int64_t rows, int64_t width) {
  Keep keep;
  if (width == 0) return false;
  for (int64_t r = 0; r < rows; ++r, w += width, g += width) {
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        const T x = Gradient<kPenalty>(f, g[i + k], w[i + k]);
        lanes[k] += x * x;
      }
    }
    for (int64_t k = 0; i + k < width; ++k) {
      const T x = Gradient<kPenalty>(f, g[i + k], w[i + k]);
      lanes[k] += x * x;
    }
    a[r] = keep(a[r] + AddLanes(lanes) / static_cast<T>(width), a[r]);
    const T rate = f.rate / (std::sqrt(a[r]) + f.epsilon);
    for (i = 0; i < width; ++i) {
      w[i] = keep(w[i] - rate * Gradient<kPenalty>(f, g[i], w[i]), w[i]);
    }
  }
  return keep.kept != 0;
}

// m and v are running means of g and g * g, corrected for their start at 0:
// w -= lr * m' / (sqrt(v') + epsilon). adamw first shrinks the weight by lr * weight_decay of
// itself.
template <bool kPenalty, bool kDecoupled, class T>
static inline bool Adam(const Factors<T> f, T* __restrict w, const T* __restrict g, T* __restrict m,
                        T* __restrict v, int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    const T x = Gradient<kPenalty>(f, g[i], w[i]);
    const T mean = keep(f.fade1 * m[i] + f.take1 * x, m[i]);
    const T square = keep(f.fade2 * v[i] + f.take2 * (x * x), v[i]);
    m[i] = mean;
    v[i] = square;
    const T move = f.rate * mean / (std::sqrt(square) * f.root + f.epsilon);
    w[i] = keep((kDecoupled ? w[i] * f.keep : w[i]) - move, w[i]);
  }
  return keep.kept != 0;
}

// As adam, with the largest v so far in place of v.
template <bool kPenalty, class T>
static inline bool Amsgrad(const Factors<T> f, T* __restrict w, const T* __restrict g,
                           T* __restrict m, T* __restrict v, T* __restrict most, int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    const T x = Gradient<kPenalty>(f, g[i], w[i]);
    const T mean = keep(f.fade1 * m[i] + f.take1 * x, m[i]);
    const T square = keep(f.fade2 * v[i] + f.take2 * (x * x), v[i]);
    const T top = square > most[i] ? square : most[i];
    m[i] = mean;
    v[i] = square;
    most[i] = top;
    w[i] = keep(w[i] - f.rate * mean / (std::sqrt(top) * f.root + f.epsilon), w[i]);
  }
  return keep.kept != 0;
}

// v = rho * v + (1 - rho) * g * g; w -= lr * g / (sqrt(v) + epsilon). Centered: with the running
// mean m of g, sqrt(v - m * m) in place of sqrt(v).
template <bool kPenalty, bool kCentered, class T>
static inline bool Rmsprop(const Factors<T> f, T* __restrict w, const T* __restrict g,
                           T* __restrict v, T* __restrict m, int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    const T x = Gradient<kPenalty>(f, g[i], w[i]);
    const T square = keep(f.fade2 * v[i] + f.take2 * (x * x), v[i]);
    v[i] = square;
    T spread = square;
    if (kCentered) {
      const T mean = keep(f.fade2 * m[i] + f.take2 * x, m[i]);
      m[i] = mean;
      const T rest = square - mean * mean;
      spread = rest > T(0) ? rest : T(0);  // rounding can take it below
    }
    w[i] = keep(w[i] - f.rate * x / (std::sqrt(spread) + f.epsilon), w[i]);
  }
  return keep.kept != 0;
}

// v and u are running means of g * g and of the squared moves:
// d = g * sqrt(u + epsilon) / sqrt(v + epsilon); w -= lr * d.
template <bool kPenalty, class T>
static inline bool Adadelta(const Factors<T> f, T* __restrict w, const T* __restrict g,
                            T* __restrict v, T* __restrict u, int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    const T x = Gradient<kPenalty>(f, g[i], w[i]);
    const T square = keep(f.fade2 * v[i] + f.take2 * (x * x), v[i]);
    const T move = std::sqrt(u[i] + f.epsilon) / std::sqrt(square + f.epsilon) * x;
    v[i] = square;
    u[i] = keep(f.fade2 * u[i] + f.take2 * (move * move), u[i]);
    w[i] = keep(w[i] - f.rate * move, w[i]);
  }
  return keep.kept != 0;
}

// Follow the proximally regularised leader: n sums g * g, z sums what the gradients ask for, and
// the weight is the minimum of z * w + l1 * |w| + ((beta + sqrt(n)) / lr + l2) * w * w / 2. A rate
// of 0 changes nothing.
template <class T>
static inline bool Ftrl(const Factors<T> f, T* __restrict w, const T* __restrict g,
                        T* __restrict sum, T* __restrict z, int64_t n) {
  Keep keep;
  if (f.inverse == T(0)) return false;
  for (int64_t i = 0; i < n; ++i) {
    const T x = g[i];
    const T before = std::sqrt(sum[i]);
    const T total = keep(sum[i] + x * x, sum[i]);
    const T after = std::sqrt(total);
    const T pull = keep(z[i] + (x - (after - before) * f.inverse * w[i]), z[i]);
    sum[i] = total;
    z[i] = pull;
    const T beyond = pull > T(0) ? pull - f.l1 : pull + f.l1;
    const T moved = -beyond / ((f.beta + after) * f.inverse + f.l2);
    w[i] = keep((pull > T(0) ? pull : -pull) <= f.l1 ? T(0) : moved, w[i]);
  }
  return keep.kept != 0;
}

// w -= lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * w); m = beta2 * m + (1 - beta2) *
// g.
template <class T>
static inline bool Lion(const Factors<T> f, T* __restrict w, const T* __restrict g, T* __restrict m,
                        int64_t n) {
  Keep keep;
  for (int64_t i = 0; i < n; ++i) {
    const T x = g[i], mean = m[i];
    w[i] = keep(w[i] * f.keep - f.rate * Sign(f.fade1 * mean + f.take1 * x), w[i]);
    m[i] = keep(f.fade2 * mean + f.take2 * x, mean);
  }
  return keep.kept != 0;
}

// lamb: where adam would go, u = m' / (sqrt(v') + epsilon) + weight_decay * w, at a length that
// fits the parameter's: w -= lr * |w| / |u| * u.
template <class T>
static inline T LambMove(const Factors<T>& f, T w, T m, T v) {
  return f.fix1 * m / (std::sqrt(v) * f.root + f.epsilon) + f.decay * w;
}

// The first half: changes m and v, and adds the squares of w and u to sums[0] and sums[1].
template <class T>
static inline bool LambMeasure(const Factors<T> f, const T* __restrict w, const T* __restrict g,
                               T* __restrict m, T* __restrict v, int64_t n,
                               double* __restrict sums) {
  Keep keep;
  double weights[kLanes] = {}, moves[kLanes] = {};
  const auto one = [&](int64_t i, int64_t k) {
    m[i] = keep(f.fade1 * m[i] + f.take1 * g[i], m[i]);
    v[i] = keep(f.fade2 * v[i] + f.take2 * (g[i] * g[i]), v[i]);
    const double weight = static_cast<double>(w[i]);
    const double move = static_cast<double>(LambMove(f, w[i], m[i], v[i]));
    weights[k] += weight * weight;
    moves[k] += move * move;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) one(i + k, k);
  }
  for (int64_t k = 0; i + k < n; ++k) one(i + k, k);
  sums[0] += AddLanes(weights);
  sums[1] += AddLanes(moves);
  return keep.kept != 0;
}

// The second half.
template <class T>
static inline bool LambStep(const Factors<T> f, T* __restrict w, const T* __restrict m,
                            const T* __restrict v, int64_t n, const double* sums) {
  const double ratio = sums[0] > 0 && sums[1] > 0 ? std::sqrt(sums[0] / sums[1]) : 1.0;
  const T rate = f.rate * static_cast<T>(ratio);
  Keep keep;
  for (int64_t i = 0; i < n; ++i) w[i] = keep(w[i] - rate * LambMove(f, w[i], m[i], v[i]), w[i]);
  return keep.kept != 0;
}

// Whether a rule treats every element by itself, so that rows may be cut.
static inline bool ByElement(Rule rule) {
  return rule != Rule::kRowwiseAdagrad && rule != Rule::kLamb;
}

template <bool kPenalty, class T>
static inline bool ApplyRule(const Factors<T>& f, T* w, const T* g, T* const* s, int64_t rows,
                             int64_t width) {
  const int64_t n = rows * width;
  switch (f.rule) {
    case Rule::kSgd:
      return Sgd<kPenalty>(f, w, g, n);
    case Rule::kMomentum:
      return f.nesterov ? Momentum<kPenalty, true>(f, w, g, s[0], n)
                        : Momentum<kPenalty, false>(f, w, g, s[0], n);
    case Rule::kAdagrad:
      return Adagrad<kPenalty>(f, w, g, s[0], n);
    case Rule::kRowwiseAdagrad:
      return RowwiseAdagrad<kPenalty>(f, w, g, s[0], rows, width);
    case Rule::kAdam:
      return Adam<kPenalty, false>(f, w, g, s[0], s[1], n);
    case Rule::kAdamW:
      return Adam<false, true>(f, w, g, s[0], s[1], n);
    case Rule::kAmsgrad:
      return Amsgrad<kPenalty>(f, w, g, s[0], s[1], s[2], n);
    case Rule::kRmsprop:
      return f.centered ? Rmsprop<kPenalty, true>(f, w, g, s[0], s[1], n)
                        : Rmsprop<kPenalty, false, T>(f, w, g, s[0], nullptr, n);
    case Rule::kAdadelta:
      return Adadelta<kPenalty>(f, w, g, s[0], s[1], n);
    case Rule::kFtrl:
      return Ftrl(f, w, g, s[0], s[1], n);
    case Rule::kLion:
      return Lion(f, w, g, s[0], n);
    case Rule::kLamb:
      break;
  }
  bool kept = false;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = r * width;
    double sums[2] = {};
    kept |= LambMeasure(f, w + at, g + at, s[0] + at, s[1] + at, width, sums);
    kept |= LambStep(f, w + at, s[0] + at, s[1] + at, width, sums);
  }
  return kept;
}

// Any rule on whole rows. Returns whether a number was kept as it was. For lamb each row is a
// parameter. slots[k] is the first element of slot k for these rows; a rule with fewer slots
// ignores the others.
template <class T>
static inline bool Apply(const Factors<T>& f, T* w, const T* g, T* const* slots, int64_t rows,
                         int64_t width) {
  return f.penalty ? ApplyRule<true>(f, w, g, slots, rows, width)
                   : ApplyRule<false>(f, w, g, slots, rows, width);
}

template <class T>
static inline bool Apply(Rule rule, const Hyper& h, T* w, const T* g, T* const* slots, int64_t rows,
                         int64_t width, double lr, int64_t step) {
  return Apply(FactorsOf<T>(rule, h, lr, step), w, g, slots, rows, width);
}

}  // namespace rules
}  // namespace catamaran

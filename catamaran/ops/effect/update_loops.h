// ops/effect/update_loops.h
//
// What `update` and `average` do with memory: the rules of table/update_rules.h on blocks of a
// parameter and on scattered rows of it. Compiled once for each instruction set (update_simd.cc)
// and once plainly, as the reference. Plain data and pointers only.

#pragma once

#include <cmath>
#include <cstdint>

#include "catamaran/table/update_rules.h"

namespace catamaran {

// A parameter with its slots; slot_width[k] is the number of elements that slot k has for a row.
template <class T>
struct UpdateTarget {
  T* w;
  T* slots[3];
  int64_t slot_width[3];
  int num_slots;
  int64_t width;
};

template <class T>
struct UpdateFunctions {
  // The rule on rows [begin, begin + count); g are their gradients. Whether a number was kept as it
  // was, since the next one is not finite; so of the others, but for how many rows have such.
  bool (*block)(const rules::Factors<T>& f, const UpdateTarget<T>& to, const T* g, int64_t begin,
                int64_t count);
  // The rule on the rows `keys`, each once; g are their gradients, in that order.
  int64_t (*rows)(const rules::Factors<T>& f, const UpdateTarget<T>& to, const T* g,
                  const uint64_t* keys, int64_t count);
  // lamb's halves on elements [begin, begin + count).
  bool (*lamb_measure)(const rules::Factors<T>& f, const UpdateTarget<T>& to, const T* g,
                       int64_t begin, int64_t count, double* sums);
  bool (*lamb_step)(const rules::Factors<T>& f, const UpdateTarget<T>& to, int64_t begin,
                    int64_t count, const double* sums);
  // to += take * (from - to).
  void (*average)(T* to, const T* from, int64_t count, double take);
  // Whether all are finite and none is beyond `most`.
  bool (*within)(const T* x, int64_t count, T most);
};

struct UpdateCode {
  UpdateFunctions<float> f32;
  UpdateFunctions<double> f64;
};

namespace update_loops {

template <class T>
static inline bool Block(const rules::Factors<T>& f, const UpdateTarget<T>& to, const T* g,
                         int64_t begin, int64_t count) {
  T* slots[3] = {};
  for (int k = 0; k < to.num_slots; ++k) slots[k] = to.slots[k] + begin * to.slot_width[k];
  return rules::Apply(f, to.w + begin * to.width, g, slots, count, to.width);
}

template <class T>
static inline void Prefetch(const T* p, int64_t n) {
  const char* at = reinterpret_cast<const char*>(p);
  const char* end = reinterpret_cast<const char*>(p + n);
  for (; at < end; at += 64) __builtin_prefetch(at, 1);
}

template <class T>
static inline int64_t Rows(const rules::Factors<T>& f, const UpdateTarget<T>& to, const T* g,
                           const uint64_t* keys, int64_t count) {
  int64_t kept = 0;
  constexpr int64_t kAhead = 6;  // rows are scattered: fetched before they are needed
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const int64_t next = static_cast<int64_t>(keys[i + kAhead]);
      Prefetch(to.w + next * to.width, to.width);
      for (int k = 0; k < to.num_slots; ++k) {
        Prefetch(to.slots[k] + next * to.slot_width[k], to.slot_width[k]);
      }
    }
    kept += Block(f, to, g + i * to.width, static_cast<int64_t>(keys[i]), int64_t{1}) ? 1 : 0;
  }
  return kept;
}

template <class T>
static inline bool Measure(const rules::Factors<T>& f, const UpdateTarget<T>& to, const T* g,
                           int64_t begin, int64_t count, double* sums) {
  return rules::LambMeasure(f, to.w + begin, g + begin, to.slots[0] + begin, to.slots[1] + begin,
                            count, sums);
}

template <class T>
static inline bool Step(const rules::Factors<T>& f, const UpdateTarget<T>& to, int64_t begin,
                        int64_t count, const double* sums) {
  return rules::LambStep(f, to.w + begin, to.slots[0] + begin, to.slots[1] + begin, count, sums);
}

template <class T>
static inline void Average(T* __restrict to, const T* __restrict from, int64_t count, double take) {
  const T part = static_cast<T>(take);
  for (int64_t i = 0; i < count; ++i) to[i] += part * (from[i] - to[i]);
}

template <class T>
static inline bool Within(const T* x, int64_t count, T most) {
  constexpr int64_t kBlock = 4096;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = begin + kBlock < count ? begin + kBlock : count;
    int32_t beyond = 0;
    for (int64_t i = begin; i < end; ++i) beyond |= std::abs(x[i]) <= most ? 0 : 1;
    if (beyond != 0) return false;
  }
  return true;
}

template <class T>
static constexpr UpdateFunctions<T> Functions() {
  return {Block<T>, Rows<T>, Measure<T>, Step<T>, Average<T>, Within<T>};
}

}  // namespace update_loops
}  // namespace catamaran

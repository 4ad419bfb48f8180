// ops/loss/list_rank_reference.h
//
// What list_net, list_mle and their gradients mean. List r is [offsets[r], offsets[r + 1]), or
// `width` elements where offsets is null.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

struct ListRankSizes {
  int64_t rows, width;
};

struct ListRange {
  int64_t begin, end;
};
inline ListRange ListAt(const int64_t* offsets, int64_t r, const ListRankSizes& s) {
  if (offsets) return {offsets[r], offsets[r + 1]};
  return {r * s.width, (r + 1) * s.width};
}

template <class T>
double ListLogSumExp(const T* x, int64_t count) {
  double max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; ++i) max = std::max(max, static_cast<double>(x[i]));
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(x[i]) - max);
  return max + std::log(sum);
}

template <class T>
void ListNet(const T* scores, const T* relevance, const int64_t* offsets, T* y,
             const ListRankSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const ListRange list = ListAt(offsets, r, s);
    const int64_t count = list.end - list.begin;
    const double of_scores = ListLogSumExp(scores + list.begin, count);
    const double of_relevance = ListLogSumExp(relevance + list.begin, count);
    double sum = 0;
    for (int64_t i = list.begin; i < list.end; ++i) {
      const double q = std::exp(static_cast<double>(relevance[i]) - of_relevance);
      sum += q * (of_scores - static_cast<double>(scores[i]));
    }
    y[r] = static_cast<T>(sum);
  }
}

template <class T>
void ListNetGrad(const T* scores, const T* relevance, const T* dy, const int64_t* offsets,
                 T* dscores, T* drelevance, const ListRankSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const ListRange list = ListAt(offsets, r, s);
    const int64_t count = list.end - list.begin;
    const double of_scores = ListLogSumExp(scores + list.begin, count);
    const double of_relevance = ListLogSumExp(relevance + list.begin, count);
    double loss = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t i = list.begin; i < list.end; ++i) {
        const double q = std::exp(static_cast<double>(relevance[i]) - of_relevance);
        const double term = of_scores - static_cast<double>(scores[i]);
        if (pass == 0) {
          loss += q * term;
          continue;
        }
        dscores[i] = static_cast<T>(static_cast<double>(dy[r]) * (std::exp(-term) - q));
        drelevance[i] = static_cast<T>(static_cast<double>(dy[r]) * q * (term - loss));
      }
    }
  }
}

// The places of a list by falling relevance; equal ones in their order. NaN comes last.
template <class T>
void ListOrder(const T* relevance, const ListRange& list, int64_t* order) {
  const int64_t count = list.end - list.begin;
  for (int64_t i = 0; i < count; ++i) order[i] = list.begin + i;
  std::sort(order, order + count, [relevance](int64_t a, int64_t b) {
    const T x = relevance[a], z = relevance[b];
    if (x > z || (z != z && x == x)) return true;
    if (z > x || (x != x && z == z)) return false;
    return a < b;
  });
}

// log(exp(a) + exp(b)).
inline double ListLogAdd(double a, double b) {
  if (a == -INFINITY) return b;
  return (a > b ? a : b) + std::log1p(std::exp(-std::fabs(a - b)));
}

// `order` has room for the longest list.
template <class T>
void ListMle(const T* scores, const T* relevance, const int64_t* offsets, T* y, int64_t* order,
             const ListRankSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const ListRange list = ListAt(offsets, r, s);
    ListOrder(relevance, list, order);
    double rest = -INFINITY, sum = 0;
    for (int64_t k = list.end - list.begin - 1; k >= 0; --k) {
      const double score = static_cast<double>(scores[order[k]]);
      rest = ListLogAdd(rest, score);
      sum += rest - score;
    }
    y[r] = static_cast<T>(sum);
  }
}

// `rests` has room for the longest list, as `order`.
template <class T>
void ListMleGrad(const T* scores, const T* relevance, const T* dy, const int64_t* offsets,
                 T* dscores, int64_t* order, double* rests, const ListRankSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const ListRange list = ListAt(offsets, r, s);
    const int64_t count = list.end - list.begin;
    ListOrder(relevance, list, order);
    double rest = -INFINITY;
    for (int64_t k = count - 1; k >= 0; --k) {
      rests[k] = rest = ListLogAdd(rest, static_cast<double>(scores[order[k]]));
    }
    // An element stands in the rests of all places up to its own.
    double before = -INFINITY;
    for (int64_t k = 0; k < count; ++k) {
      before = ListLogAdd(before, -rests[k]);
      const double share = std::exp(static_cast<double>(scores[order[k]]) + before);
      dscores[order[k]] = static_cast<T>(static_cast<double>(dy[r]) * (share - 1));
    }
  }
}

}  // namespace catamaran::reference
// reference-end

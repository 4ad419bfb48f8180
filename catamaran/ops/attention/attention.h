// ops/attention/attention.h
//
// What attention and its gradients share: sizes, where rows lie, the plain meaning of a score, and
// the type rule's checks.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "catamaran/ir/infer.h"
#include "catamaran/ir/kernel.h"

// reference-begin
namespace catamaran::reference {

// Dense operands are [batch, heads, rows, width], ragged ones [total rows, heads, width] with
// offsets. `kv_heads` divides `heads`: neighbouring heads of q share one of k and v.
struct AttentionSizes {
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;
  int64_t causal, ragged, masked;  // masked: 0 no mask, 1 bool, 2 added
  int64_t mask_step[4];            // of batch, head, query and key; 0 where the mask repeats
  double scale;
};

// Sequence b of one operand: where its rows are.
struct AttentionSpan {
  int64_t first, rows;
  int64_t heads, ragged;
  // The number of row t of head h, counted in rows of one head.
  int64_t Row(int64_t h, int64_t t) const {
    return ragged ? (first + t) * heads + h : first + h * rows + t;
  }
};

inline AttentionSpan AttentionSpanOf(int64_t b, int64_t heads, int64_t rows,
                                     const int64_t* offsets) {
  if (offsets == nullptr) return {b * heads * rows, rows, heads, 0};
  return {offsets[b], offsets[b + 1] - offsets[b], heads, 1};
}

// The number of keys that query t of T sees of S, without looking ahead: the last one sees all.
inline int64_t AttentionSeen(int64_t t, int64_t queries, int64_t keys, int64_t causal) {
  if (!causal) return keys;
  const int64_t seen = t + 1 + keys - queries;
  return seen < 0 ? 0 : seen;
}

// q k * scale, and the mask: -infinity where it says no.
template <class T, class M>
double AttentionScore(const T* q, const T* k, const M* mask, int64_t mask_at,
                      const AttentionSizes& s) {
  if (s.masked == 1 && !mask[mask_at]) return -HUGE_VAL;
  double sum = 0;
  for (int64_t d = 0; d < s.width; ++d)
    sum += static_cast<double>(q[d]) * static_cast<double>(k[d]);
  sum *= s.scale;
  return s.masked == 2 ? sum + static_cast<double>(mask[mask_at]) : sum;
}

// Offsets are null for dense operands, the mask where there is none. `lse` is the logarithm of the
// sum of the exponentials of a query's scores.
template <class T, class M>
void Attention(const T* q, const T* k, const T* v, const M* mask, const int64_t* q_offsets,
               const int64_t* k_offsets, T* y, T* lse, const AttentionSizes& s) {
  for (int64_t b = 0; b < s.batch; ++b) {
    const AttentionSpan queries = AttentionSpanOf(b, s.heads, s.queries, q_offsets);
    const AttentionSpan keys = AttentionSpanOf(b, s.kv_heads, s.keys, k_offsets);
    for (int64_t h = 0; h < s.heads; ++h) {
      const int64_t kv = h / (s.heads / s.kv_heads);
      for (int64_t t = 0; t < queries.rows; ++t) {
        const int64_t row = queries.Row(h, t);
        const int64_t seen = AttentionSeen(t, queries.rows, keys.rows, s.causal);
        const int64_t at = b * s.mask_step[0] + h * s.mask_step[1] + t * s.mask_step[2];
        const auto score = [&](int64_t u) {
          return AttentionScore(q + row * s.width, k + keys.Row(kv, u) * s.width, mask,
                                at + u * s.mask_step[3], s);
        };
        double max = -HUGE_VAL;
        for (int64_t u = 0; u < seen; ++u) max = std::max(max, score(u));
        T* out = y + row * s.value_width;
        for (int64_t d = 0; d < s.value_width; ++d) out[d] = T(0);
        double sum = 0;
        // Where nothing is seen, or all that is seen is masked, nothing is added.
        for (int64_t u = 0; u < seen; ++u) {
          const double x = score(u);
          if (x == -HUGE_VAL) continue;
          const double p = std::exp(x - max);
          const T* row_v = v + keys.Row(kv, u) * s.value_width;
          for (int64_t d = 0; d < s.value_width; ++d) out[d] += static_cast<T>(p) * row_v[d];
          sum += p;
        }
        if (sum != 0) {
          for (int64_t d = 0; d < s.value_width; ++d) out[d] /= static_cast<T>(sum);
        }
        lse[row] = static_cast<T>(sum == 0 ? -HUGE_VAL : max + std::log(sum));
      }
    }
  }
}

// Calls visit(row of q, row of k, place in the mask, p, ds) for every pair that sees each other:
// p is the weight, ds the gradient at its score. `dlse` may be null.
template <class T, class M, class F>
void AttentionPairs(const T* q, const T* k, const T* v, const M* mask, const int64_t* q_offsets,
                    const int64_t* k_offsets, const T* y, const T* lse, const T* dy, const T* dlse,
                    const AttentionSizes& s, F visit) {
  for (int64_t b = 0; b < s.batch; ++b) {
    const AttentionSpan queries = AttentionSpanOf(b, s.heads, s.queries, q_offsets);
    const AttentionSpan keys = AttentionSpanOf(b, s.kv_heads, s.keys, k_offsets);
    for (int64_t h = 0; h < s.heads; ++h) {
      const int64_t kv = h / (s.heads / s.kv_heads);
      for (int64_t t = 0; t < queries.rows; ++t) {
        const int64_t row = queries.Row(h, t);
        const int64_t seen = AttentionSeen(t, queries.rows, keys.rows, s.causal);
        const int64_t at = b * s.mask_step[0] + h * s.mask_step[1] + t * s.mask_step[2];
        double delta = dlse == nullptr ? 0.0 : -static_cast<double>(dlse[row]);
        for (int64_t d = 0; d < s.value_width; ++d) {
          delta += static_cast<double>(dy[row * s.value_width + d]) *
                   static_cast<double>(y[row * s.value_width + d]);
        }
        for (int64_t u = 0; u < seen; ++u) {
          const int64_t row_k = keys.Row(kv, u), place = at + u * s.mask_step[3];
          const double x = AttentionScore(q + row * s.width, k + row_k * s.width, mask, place, s);
          if (x == -HUGE_VAL) continue;
          const double p = std::exp(x - static_cast<double>(lse[row]));
          double dp = 0;
          for (int64_t d = 0; d < s.value_width; ++d) {
            dp += static_cast<double>(dy[row * s.value_width + d]) *
                  static_cast<double>(v[row_k * s.value_width + d]);
          }
          visit(row, row_k, place, p, p * (dp - delta));
        }
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

// Checks q, k, v (operands 0, 1, 2) and the mask (operand `mask`, when it is given).
bool WantAttention(InferContext& c, int mask);

// The type of the second result: one number for each query of each head.
Type AttentionLseType(const Type& q);

// `mask`: its operand's number; it may be left out.
reference::AttentionSizes AttentionSizesOf(const KernelQuery& query, int mask);
void WriteAttentionSizes(const reference::AttentionSizes& s, Words& words);

// The sizes of this run.
reference::AttentionSizes AttentionRunSizes(const KernelContext& c, int mask);

// Calls f with the pointer to the mask: bool, or T (null where there is none).
template <class T, class F>
void WithAttentionMask(const KernelContext& c, int mask, F&& f) {
  if (c.has_in(mask) && c.in(mask).tensor.dtype == DType::kBool) {
    f(c.in(mask).data<const bool>());
  } else {
    f(c.has_in(mask) ? c.in(mask).data<const T>() : static_cast<const T*>(nullptr));
  }
}

}  // namespace catamaran

#include "catamaran/ops/attention/attention_simd.h"

#include "catamaran/ops/attention/tile_simd.h"
#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kQueries = kAttentionQueries;  // lanes of a row of a tile
constexpr int64_t kKeys = 96;                    // rows of a tile: a multiple of all kTileRows
constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;
constexpr float kInfinity = __builtin_inff();

// Keys beyond these are seen by no query of the block.
inline int64_t KeysSeen(const AttentionBlock& b) {
  if (b.first_sees >= b.keys) return b.keys;
  const int64_t last = b.first_sees + b.queries - 1;
  return last < 0 ? 0 : last < b.keys ? last : b.keys;
}

inline int64_t Vectors(const AttentionBlock& b) { return (b.queries + kLanes - 1) / kLanes; }

// to[d][i] = from.Row(i)[d] * factor; lanes without a query are 0.
void PackTransposed(const AttentionRows& from, int64_t rows, int64_t width, float factor,
                    float* to) {
  const int64_t lanes = (rows + kLanes - 1) / kLanes * kLanes;
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = from.Row(i);
    for (int64_t d = 0; d < width; ++d) to[d * kQueries + i] = row[d] * factor;
  }
  for (int64_t d = 0; d < width; ++d) {
    for (int64_t i = rows; i < lanes; ++i) to[d * kQueries + i] = 0.0f;
  }
}

// to.Row(i)[d] = from[d][i] * factor[i].
void UnpackTransposed(const float* from, int64_t rows, int64_t width, const float* factor,
                      const AttentionOutRows& to) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = to.Row(i);
    for (int64_t d = 0; d < width; ++d) row[d] = from[d * kQueries + i] * factor[i];
  }
}

// Puts -infinity where queries do not see keys, and adds the mask. `tile` holds the scores of
// `count` keys from `first` on, in units of log 2.
void ApplyMasks(const AttentionBlock& b, int64_t first, int64_t count, float* tile) {
  const int64_t lanes = Vectors(b) * kLanes;
  for (int64_t j = 0; j < count; ++j) {
    float* row = tile + j * kQueries;
    // Queries before this one do not look so far ahead.
    int64_t blind = first + j - b.first_sees + 1;
    if (blind > lanes) blind = lanes;
    for (int64_t i = 0; i < blind; ++i) row[i] = -kInfinity;
  }
  if (b.keep != nullptr) {
    for (int64_t i = 0; i < b.queries; ++i) {
      const bool* keep = b.keep + i * b.mask_query + first * b.mask_key;
      for (int64_t j = 0; j < count; ++j) {
        float& x = tile[j * kQueries + i];
        x = keep[j * b.mask_key] ? x : -kInfinity;
      }
    }
  }
  if (b.add != nullptr) {
    for (int64_t i = 0; i < b.queries; ++i) {
      const float* add = b.add + i * b.mask_query + first * b.mask_key;
      for (int64_t j = 0; j < count; ++j) tile[j * kQueries + i] += add[j * b.mask_key] * kLog2E;
    }
  }
}

// The scores of `count` keys from `first` on, in units of log 2, for queries packed with
// scale * log2(e).
void Scores(const AttentionBlock& b, const float* packed, int64_t first, int64_t count,
            float* tile) {
  Multiply<Begin::kZero>(b.k.Row(first), 1, b.k.stride, packed, kQueries, tile, kQueries, count,
                         Vectors(b), b.width, nullptr);
  if (first + count > b.first_sees || b.keep != nullptr || b.add != nullptr) {
    ApplyMasks(b, first, count, tile);
  }
}

// One step of softmax for R vectors of queries: the tile's scores become weights relative to the
// largest score so far; `sum` follows; `factor` is what the sums so far shrink by.
template <int R>
inline void SoftmaxStep(float* tile, int64_t count, float* max, float* sum, float* factor) {
  V largest[R], base[R], total[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) largest[r] = Load(max + r * kLanes);
  for (int64_t j = 0; j < count; ++j) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      largest[r] = Max(Load(tile + j * kQueries + r * kLanes), largest[r]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    // While all is masked the largest is -infinity; any finite base gives weights of 0.
    base[r] = Max(largest[r], Set(-3e38f));
    const V shrink = Exp2(Load(max + r * kLanes) - base[r]);
    Store(max + r * kLanes, largest[r]);
    Store(factor + r * kLanes, shrink);
    total[r] = Load(sum + r * kLanes) * shrink;
  }
  for (int64_t j = 0; j < count; ++j) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      float* at = tile + j * kQueries + r * kLanes;
      const V p = Exp2(Load(at) - base[r]);
      Store(at, p);
      total[r] += p;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) Store(sum + r * kLanes, total[r]);
}

void Forward(const AttentionForward& task) {
  const AttentionBlock& b = task.block;
  float* packed = b.scratch;                   // [width][kQueries]
  float* y = packed + b.width * kQueries;      // [value_width][kQueries]
  float* tile = y + b.value_width * kQueries;  // [kKeys][kQueries]
  alignas(64) float max[kQueries], sum[kQueries], factor[kQueries];
  for (int64_t i = 0; i < kQueries; ++i) max[i] = -kInfinity, sum[i] = 0.0f;
  PackTransposed(b.q, b.queries, b.width, b.scale * kLog2E, packed);
  const int64_t seen = KeysSeen(b), vectors = Vectors(b);
  for (int64_t first = 0; first < seen; first += kKeys) {
    const int64_t count = seen - first < kKeys ? seen - first : kKeys;
    Scores(b, packed, first, count, tile);
    int64_t v = 0;
    for (; v + 2 <= vectors; v += 2) {
      const int64_t at = v * kLanes;
      SoftmaxStep<2>(tile + at, count, max + at, sum + at, factor + at);
    }
    if (v < vectors) {
      const int64_t at = v * kLanes;
      SoftmaxStep<1>(tile + at, count, max + at, sum + at, factor + at);
    }
    if (first == 0) {
      Multiply<Begin::kZero>(b.v.Row(first), b.v.stride, 1, tile, kQueries, y, kQueries,
                             b.value_width, vectors, count, nullptr);
    } else {
      Multiply<Begin::kScaled>(b.v.Row(first), b.v.stride, 1, tile, kQueries, y, kQueries,
                               b.value_width, vectors, count, factor);
    }
  }
  for (int64_t i = 0; i < b.queries; ++i) {
    // NaN must come through, so the test is for exactly nothing.
    factor[i] = sum[i] == 0.0f ? 0.0f : 1.0f / sum[i];
    *task.lse.Row(i) = sum[i] == 0.0f ? -kInfinity : max[i] * kLn2 + LogFloat(sum[i]);
  }
  if (seen == 0) {
    for (int64_t i = 0; i < b.value_width * kQueries; ++i) y[i] = 0.0f;
  }
  UnpackTransposed(y, b.queries, b.value_width, factor, task.y);
}

// The weights of a tile from its scores and the logarithms of the sums; then the slopes at the
// scores: tile = p, slopes = p * (slopes - delta) * scale.
void WeightsAndSlopes(float* tile, float* slopes, int64_t count, int64_t vectors, const float* lse,
                      const float* delta, float scale) {
  for (int64_t v = 0; v < vectors; ++v) {
    const V base = Load(lse + v * kLanes), less = Load(delta + v * kLanes), factor = Set(scale);
    for (int64_t j = 0; j < count; ++j) {
      float* at = tile + j * kQueries + v * kLanes;
      float* slope = slopes + j * kQueries + v * kLanes;
      const V p = Exp2(Load(at) - base);
      Store(at, p);
      Store(slope, p * (Load(slope) - less) * factor);
    }
  }
}

// out.Row(j)[d] += sum over queries of tile[j][i] * rows.Row(i)[d]. `packed` holds the rows
// transposed, for the columns that do not fill a vector, times 1 / undo.
void AddProducts(const float* tile, int64_t count, const AttentionRows& rows, int64_t queries,
                 int64_t width, const float* packed, float undo, const AttentionOutRows& out) {
  const int64_t vectors = width / kLanes;
  Multiply<Begin::kAdd>(tile, 1, kQueries, rows.data, rows.stride, out.data, out.stride, count,
                        vectors, queries, nullptr);
  for (int64_t d = vectors * kLanes; d < width; ++d) {
    for (int64_t j = 0; j < count; ++j) {
      V sum = V{};
      for (int64_t i = 0; i < queries; i += kLanes) {
        sum = Fma(Load(tile + j * kQueries + i), Load(packed + d * kQueries + i), sum);
      }
      out.Row(j)[d] += Sum(sum) * undo;
    }
  }
}

void Backward(const AttentionBackward& task) {
  const AttentionBlock& b = task.block;
  float* packed = b.scratch;                         // [width][kQueries]
  float* packed_dy = packed + b.width * kQueries;    // [value_width][kQueries]
  float* dq = packed_dy + b.value_width * kQueries;  // [width][kQueries]
  float* tile = dq + b.width * kQueries;             // [kKeys][kQueries]
  float* slopes = tile + kKeys * kQueries;           // [kKeys][kQueries]
  alignas(64) float lse[kQueries], delta[kQueries];
  const float factor = b.scale * kLog2E;
  PackTransposed(b.q, b.queries, b.width, factor, packed);
  PackTransposed(task.dy, b.queries, b.value_width, 1.0f, packed_dy);
  for (int64_t i = 0; i < kQueries; ++i) lse[i] = kInfinity, delta[i] = 0.0f;
  for (int64_t i = 0; i < b.queries; ++i) {
    const float own = *task.lse.Row(i);
    // Of a query that saw nothing all weights are 0.
    lse[i] = own == -kInfinity ? kInfinity : own * kLog2E;
    const float *y = task.y.Row(i), *dy = task.dy.Row(i);
    V sum = V{};
    int64_t d = 0;
    for (; d + kLanes <= b.value_width; d += kLanes) sum = Fma(Load(y + d), Load(dy + d), sum);
    float total = Sum(sum);
    for (; d < b.value_width; ++d) total += y[d] * dy[d];
    delta[i] = task.dlse.data == nullptr ? total : total - *task.dlse.Row(i);
  }
  for (int64_t i = 0; i < b.width * kQueries; ++i) dq[i] = 0.0f;
  const int64_t seen = KeysSeen(b), vectors = Vectors(b);
  for (int64_t first = 0; first < seen; first += kKeys) {
    const int64_t count = seen - first < kKeys ? seen - first : kKeys;
    Scores(b, packed, first, count, tile);
    Multiply<Begin::kZero>(b.v.Row(first), 1, b.v.stride, packed_dy, kQueries, slopes, kQueries,
                           count, vectors, b.value_width, nullptr);
    WeightsAndSlopes(tile, slopes, count, vectors, lse, delta, b.scale);
    AddProducts(tile, count, task.dy, b.queries, b.value_width, packed_dy, 1.0f,
                {task.dv.Row(first), task.dv.stride});
    AddProducts(slopes, count, b.q, b.queries, b.width, packed, 1.0f / factor,
                {task.dk.Row(first), task.dk.stride});
    Multiply<Begin::kAdd>(b.k.Row(first), b.k.stride, 1, slopes, kQueries, dq, kQueries, b.width,
                          vectors, count, nullptr);
  }
  for (int64_t i = 0; i < kQueries; ++i) lse[i] = 1.0f;
  UnpackTransposed(dq, b.queries, b.width, lse, task.dq);
}

}  // namespace

const AttentionFunctions kAttentionFunctions = {Forward, Backward};

}  // namespace catamaran::CATAMARAN_ISA

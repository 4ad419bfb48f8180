#include "catamaran/ops/attention/attention_simd.h"

#include "catamaran/ops/attention/tile_simd.h"
#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kQueries = kAttentionQueries;  // lanes of a row of a tile
constexpr int64_t kKeys = kAttentionKeys;        // rows of a tile
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
  const V scale = Set(factor);
  for (int64_t i0 = 0; i0 < rows; i0 += kLanes) {
    const int64_t count = rows - i0 < kLanes ? rows - i0 : kLanes;
    int64_t d = 0;
    for (; d + kLanes <= width; d += kLanes) {
      V square[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        square[i] = i < count ? Load(from.Row(i0 + i) + d) * scale : V{};
      }
      Transpose(square);
      for (int64_t i = 0; i < kLanes; ++i) Store(to + (d + i) * kQueries + i0, square[i]);
    }
    for (; d < width; ++d) {
      for (int64_t i = 0; i < kLanes; ++i) {
        to[d * kQueries + i0 + i] = i < count ? from.Row(i0 + i)[d] * factor : 0.0f;
      }
    }
  }
}

// to.Row(i)[d] = from[d][i] * factor[i].
void UnpackTransposed(const float* from, int64_t rows, int64_t width, const float* factor,
                      const AttentionOutRows& to) {
  for (int64_t i0 = 0; i0 < rows; i0 += kLanes) {
    const int64_t count = rows - i0 < kLanes ? rows - i0 : kLanes;
    const V scale = Load(factor + i0);
    int64_t d = 0;
    for (; d + kLanes <= width; d += kLanes) {
      V square[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        square[i] = Load(from + (d + i) * kQueries + i0) * scale;
      }
      Transpose(square);
      for (int64_t i = 0; i < count; ++i) Store(to.Row(i0 + i) + d, square[i]);
    }
    for (; d < width; ++d) {
      for (int64_t i = 0; i < count; ++i) {
        to.Row(i0 + i)[d] = from[d * kQueries + i0 + i] * factor[i0 + i];
      }
    }
  }
}

// A tile of scores: the keys from `first` on. In a causal block the first vectors of queries see
// fewer of them than the last.
struct TileKeys {
  int64_t first, count;
  int64_t first_sees;  // of these keys, the first query

  TileKeys(const AttentionBlock& b, int64_t begin, int64_t n)
      : first(begin), count(n), first_sees(b.first_sees - begin) {}
  bool all_seen() const { return first_sees >= count; }
  // How many of the keys some query of vector v sees.
  int64_t SeenBy(int64_t v) const {
    const int64_t seen = first_sees + (v + 1) * kLanes - 1;
    return seen < 0 ? 0 : seen < count ? seen : count;
  }
  // The first vector that sees key j, or any after it.
  int64_t FirstVector(int64_t j) const {
    const int64_t blind = j - first_sees + 1;
    return blind <= 0 ? 0 : blind / kLanes;
  }
};

// Calls f(first key, number of keys, first vector) for the parts of a tile that are seen: in a
// causal one, strips of keys without the vectors that see none of them.
template <class F>
inline void ForEachStrip(const TileKeys& keys, int64_t vectors, F f) {
  int64_t j = keys.all_seen() ? keys.count : keys.first_sees < 0 ? 0 : keys.first_sees;
  if (j > 0) f(int64_t{0}, j, int64_t{0});
  while (j < keys.count) {
    const int64_t v = keys.FirstVector(j);
    if (v >= vectors) return;
    // Up to the key that vector v does not see any more.
    int64_t end = keys.SeenBy(v);
    if (end <= j) end = j + 1;
    f(j, end - j, v);
    j = end;
  }
}

// Puts -infinity where queries do not see keys, and adds the mask.
void ApplyMasks(const AttentionBlock& b, const TileKeys& keys, float* tile) {
  const int64_t lanes = Vectors(b) * kLanes;
  for (int64_t j = keys.first_sees < 0 ? 0 : keys.first_sees; j < keys.count; ++j) {
    float* row = tile + j * kQueries;
    // Queries before this one do not look so far ahead.
    int64_t blind = j - keys.first_sees + 1;
    if (blind > lanes) blind = lanes;
    for (int64_t i = 0; i < blind; ++i) row[i] = -kInfinity;
  }
  const int64_t at = keys.first * b.mask_key;
  if (b.keep != nullptr && b.mask_query == 0) {
    for (int64_t j = 0; j < keys.count; ++j) {
      if (b.keep[at + j * b.mask_key]) continue;
      for (int64_t i = 0; i < lanes; ++i) tile[j * kQueries + i] = -kInfinity;
    }
  } else if (b.keep != nullptr) {
    for (int64_t i = 0; i < b.queries; ++i) {
      const bool* keep = b.keep + i * b.mask_query + at;
      for (int64_t j = 0; j < keys.count; ++j) {
        float& x = tile[j * kQueries + i];
        x = keep[j * b.mask_key] ? x : -kInfinity;
      }
    }
  }
  if (b.add != nullptr && b.mask_query == 0) {
    for (int64_t j = 0; j < keys.count; ++j) {
      const float add = b.add[at + j * b.mask_key] * kLog2E;
      for (int64_t i = 0; i < lanes; ++i) tile[j * kQueries + i] += add;
    }
  } else if (b.add != nullptr) {
    for (int64_t i = 0; i < b.queries; ++i) {
      const float* add = b.add + i * b.mask_query + at;
      for (int64_t j = 0; j < keys.count; ++j) {
        tile[j * kQueries + i] += add[j * b.mask_key] * kLog2E;
      }
    }
  }
}

// tile[j][i] = sum over d of rows.Row(j)[d] * packed[d][i] where query i's vector sees key j.
void Products(const AttentionRows& rows, const float* packed, int64_t width, const TileKeys& keys,
              int64_t vectors, float* tile) {
  ForEachStrip(keys, vectors, [&](int64_t j, int64_t count, int64_t v) {
    Multiply<Begin::kZero>(rows.Row(keys.first + j), 1, rows.stride, packed + v * kLanes, kQueries,
                           tile + j * kQueries + v * kLanes, kQueries, count, vectors - v, width,
                           nullptr);
  });
}

// The scores in units of log 2, for queries packed with scale * log2(e).
void Scores(const AttentionBlock& b, const float* packed, const TileKeys& keys, float* tile) {
  Products(b.k, packed, b.width, keys, Vectors(b), tile);
  if (!keys.all_seen() || b.keep != nullptr || b.add != nullptr) ApplyMasks(b, keys, tile);
}

// out[d][i] = out[d][i] * factor[i] + sum over the keys of rows.Row(j)[d] * tile[j][i].
template <Begin begin>
void AddOver(const AttentionRows& rows, const float* tile, const TileKeys& keys, int64_t width,
             int64_t vectors, const float* factor, float* out) {
  const float* a = rows.Row(keys.first);
  if (keys.all_seen()) {
    Multiply<begin>(a, rows.stride, 1, tile, kQueries, out, kQueries, width, vectors, keys.count,
                    factor);
    return;
  }
  for (int64_t v = 0; v < vectors; ++v) {
    const int64_t at = v * kLanes;
    Multiply<begin>(a, rows.stride, 1, tile + at, kQueries, out + at, kQueries, width, 1,
                    keys.SeenBy(v), factor == nullptr ? nullptr : factor + at);
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

// --- Few queries, one at a time: a lane for each feature.

// The scores of one query with `count` keys, in units of log 2.
void ScoresOfOne(const AttentionBlock& b, const float* q, int64_t first, int64_t count,
                 float* scores) {
  const float factor = b.scale * kLog2E;
  for (int64_t j = 0; j < count; j += kLanes) {
    const int64_t rows = count - j < kLanes ? count - j : kLanes;
    V sums[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) sums[r] = V{};
    for (int64_t r = 0; r < rows; ++r) {
      const float* k = b.k.Row(first + j + r);
      V even = V{}, odd = V{};
      int64_t d = 0;
      for (; d + 2 * kLanes <= b.width; d += 2 * kLanes) {
        even = Fma(Load(q + d), Load(k + d), even);
        odd = Fma(Load(q + d + kLanes), Load(k + d + kLanes), odd);
      }
      for (; d + kLanes <= b.width; d += kLanes) even = Fma(Load(q + d), Load(k + d), even);
      float tail = 0.0f;
      for (; d < b.width; ++d) tail += q[d] * k[d];
      sums[r] = even + odd;
      sums[r][0] += tail;
    }
    Store(scores + j, SumEach(sums) * Set(factor));
  }
}

void ForwardOne(const AttentionForward& task, int64_t t, float* scratch) {
  const AttentionBlock& b = task.block;
  float* scores = scratch;  // [kKeys], rounded up to whole vectors
  const float* q = b.q.Row(t);
  float* y = task.y.Row(t);
  int64_t seen = b.first_sees + t;
  seen = seen < 0 ? 0 : seen < b.keys ? seen : b.keys;
  const int64_t vectors = b.value_width / kLanes;
  alignas(64) float max[kLanes], factor[kLanes];
  float sum = 0.0f, largest = -kInfinity;
  for (int64_t d = 0; d < b.value_width; ++d) y[d] = 0.0f;
  for (int64_t first = 0; first < seen; first += kKeys) {
    const int64_t count = seen - first < kKeys ? seen - first : kKeys;
    const int64_t lanes = (count + kLanes - 1) / kLanes * kLanes;
    ScoresOfOne(b, q, first, count, scores);
    for (int64_t j = count; j < lanes; ++j) scores[j] = -kInfinity;
    const int64_t at = t * b.mask_query + first * b.mask_key;
    for (int64_t j = 0; b.keep != nullptr && j < count; ++j) {
      if (!b.keep[at + j * b.mask_key]) scores[j] = -kInfinity;
    }
    for (int64_t j = 0; b.add != nullptr && j < count; ++j) {
      scores[j] += b.add[at + j * b.mask_key] * kLog2E;
    }
    V most = Set(largest);
    for (int64_t j = 0; j < lanes; j += kLanes) most = Max(Load(scores + j), most);
    Store(max, most);
    float now = largest;
    for (int64_t i = 0; i < kLanes; ++i) now = max[i] > now ? max[i] : now;
    const V base = Set(now > -3e38f ? now : -3e38f);
    const V shrink = Exp2(Set(largest) - base);
    V total = V{};
    for (int64_t j = 0; j < lanes; j += kLanes) {
      const V p = Exp2(Load(scores + j) - base);
      Store(scores + j, p);
      total += p;
    }
    for (int64_t i = 0; i < kLanes; ++i) factor[i] = shrink[0];
    sum = sum * factor[0] + Sum(total);
    largest = now;
    // One row of weights times the values.
    const float* v = b.v.Row(first);
    for (int64_t at_v = 0; at_v < vectors * kLanes; at_v += kLanes) {
      Store(y + at_v, Load(y + at_v) * shrink);
    }
    Multiply<Begin::kAdd>(scores, 1, 0, v, b.v.stride, y, 0, 1, vectors, count, nullptr);
    for (int64_t d = vectors * kLanes; d < b.value_width; ++d) {
      float column = y[d] * factor[0];
      for (int64_t j = 0; j < count; ++j) column += scores[j] * v[j * b.v.stride + d];
      y[d] = column;
    }
  }
  // NaN must come through, so the test is for exactly nothing.
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (int64_t d = 0; d < b.value_width; ++d) y[d] *= inverse;
  *task.lse.Row(t) = sum == 0.0f ? -kInfinity : largest * kLn2 + LogFloat(sum);
}

constexpr int64_t kFew = kLanes / 4;  // so many queries leave most lanes of a block idle

void Forward(const AttentionForward& task) {
  const AttentionBlock& b = task.block;
  if (b.queries <= kFew) {
    for (int64_t t = 0; t < b.queries; ++t) ForwardOne(task, t, b.scratch);
    return;
  }
  float* packed = b.scratch;                   // [width][kQueries]
  float* y = packed + b.width * kQueries;      // [value_width][kQueries]
  float* tile = y + b.value_width * kQueries;  // [kKeys][kQueries]
  alignas(64) float max[kQueries], sum[kQueries], factor[kQueries];
  for (int64_t i = 0; i < kQueries; ++i) max[i] = -kInfinity, sum[i] = 0.0f;
  PackTransposed(b.q, b.queries, b.width, b.scale * kLog2E, packed);
  const int64_t seen = KeysSeen(b), vectors = Vectors(b);
  for (int64_t first = 0; first < seen; first += kKeys) {
    const TileKeys keys(b, first, seen - first < kKeys ? seen - first : kKeys);
    Scores(b, packed, keys, tile);
    int64_t v = 0;
    for (; v + 2 <= vectors; v += 2) {
      const int64_t at = v * kLanes;
      SoftmaxStep<2>(tile + at, keys.SeenBy(v + 1), max + at, sum + at, factor + at);
    }
    if (v < vectors) {
      const int64_t at = v * kLanes;
      SoftmaxStep<1>(tile + at, keys.SeenBy(v), max + at, sum + at, factor + at);
    }
    if (first == 0) {
      AddOver<Begin::kZero>(b.v, tile, keys, b.value_width, vectors, nullptr, y);
    } else {
      AddOver<Begin::kScaled>(b.v, tile, keys, b.value_width, vectors, factor, y);
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
void WeightsAndSlopes(float* tile, float* slopes, const TileKeys& keys, int64_t vectors,
                      const float* lse, const float* delta, float scale) {
  const V factor = Set(scale);
  for (int64_t v = 0; v < vectors; ++v) {
    const V base = Load(lse + v * kLanes), less = Load(delta + v * kLanes);
    const int64_t count = keys.SeenBy(v);
    for (int64_t j = 0; j < count; ++j) {
      float* at = tile + j * kQueries + v * kLanes;
      float* slope = slopes + j * kQueries + v * kLanes;
      const V p = Exp2(Load(at) - base);
      Store(at, p);
      Store(slope, p * (Load(slope) - less) * factor);
    }
  }
}

// out.Row(j)[d] += sum over queries of tile[j][i] * rows.Row(i)[d], for the keys of the tile.
// `packed` holds the rows transposed, times 1 / undo, for the columns that do not fill a vector.
void AddProducts(const float* tile, const TileKeys& keys, const AttentionRows& rows,
                 int64_t queries, int64_t width, const float* packed, float undo,
                 const AttentionOutRows& out) {
  const int64_t vectors = width / kLanes, most = (queries + kLanes - 1) / kLanes;
  ForEachStrip(keys, most, [&](int64_t j0, int64_t count, int64_t v) {
    const int64_t i0 = v * kLanes;
    float* to = out.Row(keys.first + j0);
    Multiply<Begin::kAdd>(tile + j0 * kQueries + i0, 1, kQueries, rows.Row(i0), rows.stride, to,
                          out.stride, count, vectors, queries - i0, nullptr);
    for (int64_t d = vectors * kLanes; d < width; ++d) {
      for (int64_t j = 0; j < count; ++j) {
        V sum = V{};
        for (int64_t i = i0; i < queries; i += kLanes) {
          sum = Fma(Load(tile + (j0 + j) * kQueries + i), Load(packed + d * kQueries + i), sum);
        }
        to[j * out.stride + d] += Sum(sum) * undo;
      }
    }
  });
}

void AddToMask(const float* slopes, const TileKeys& keys, const AttentionBlock& b, float* dmask) {
  for (int64_t i = 0; i < b.queries; ++i) {
    float* row = dmask + i * b.mask_query + keys.first * b.mask_key;
    const int64_t count = keys.SeenBy(i / kLanes);
    for (int64_t j = 0; j < count; ++j) row[j * b.mask_key] += slopes[j * kQueries + i];
  }
}

// With dmask, slopes are not multiplied by the scale, and dq and dk must be null.
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
  const int64_t all_seen = KeysSeen(b), vectors = Vectors(b);
  const int64_t end = all_seen < task.key_end ? all_seen : task.key_end;
  for (int64_t first = task.key_begin; first < end; first += kKeys) {
    const TileKeys keys(b, first, end - first < kKeys ? end - first : kKeys);
    Scores(b, packed, keys, tile);
    Products(b.v, packed_dy, b.value_width, keys, vectors, slopes);
    WeightsAndSlopes(tile, slopes, keys, vectors, lse, delta, task.dmask ? 1.0f : b.scale);
    if (task.dmask != nullptr) AddToMask(slopes, keys, b, task.dmask);
    if (task.dv.data != nullptr) {
      AddProducts(tile, keys, task.dy, b.queries, b.value_width, packed_dy, 1.0f, task.dv);
    }
    if (task.dk.data != nullptr) {
      AddProducts(slopes, keys, b.q, b.queries, b.width, packed, 1.0f / factor, task.dk);
    }
    if (task.dq.data != nullptr) {
      AddOver<Begin::kAdd>(b.k, slopes, keys, b.width, vectors, nullptr, dq);
    }
  }
  if (task.dq.data == nullptr) return;
  for (int64_t i = 0; i < kQueries; ++i) lse[i] = 1.0f;
  UnpackTransposed(dq, b.queries, b.width, lse, task.dq);
}

}  // namespace

const AttentionFunctions kAttentionFunctions = {Forward, Backward};

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/ops/convolution/conv_direct_simd.h"

#include "catamaran/ops/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

using V = Vector<float>;
constexpr int64_t kLanes = kWidth<float>;

#if defined(__AVX512F__)
inline V MulAdd(V a, V b, V c) { return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
constexpr int kSums = 20;  // vectors of sums that stay in registers
#elif defined(__AVX2__)
inline V MulAdd(V a, V b, V c) { return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
constexpr int kSums = 10;
#else
inline V MulAdd(V a, V b, V c) { return a * b + c; }
constexpr int kSums = 10;
#endif

inline V Load(const float* p) { return WholeVector<float>{0}(p); }

inline void StoreFirst(float* to, V v, int64_t count) {
  if (count >= kLanes) {
    WholeVector<float>{0}.Store(to, v);
  } else {
    PartVector<float>{0, count}.Store(to, v);
  }
}

// ---- Results: `channels` of them for `vectors` vectors of places, at once.

// Where the vectors of a tile lie: side by side in a row, or in rows below each other.
struct Tile {
  int64_t x_step, y_step;  // from one to the next
  int64_t columns;         // of the first that are there
  int64_t fewer;           // and of each next one, as many fewer
};

template <int channels, int vectors>
void ResultTile(const float* x, const float* w, const float* bias, float* y, const Tile& tile,
                const DirectSizes& s) {
  V sums[channels][vectors];
  for (int o = 0; o < channels; ++o) {
    for (int v = 0; v < vectors; ++v) sums[o][v] = V{} + (bias ? bias[o] : 0.0f);
  }
  const int64_t stride = s.row_stride(), plane = s.rows() * stride;
  for (int64_t i = 0; i < s.in_channels; ++i) {
    for (int64_t r = 0; r < s.kernel_rows; ++r) {
      const float* row = x + i * plane + r * stride;
      for (int64_t c = 0; c < s.kernel_columns; ++c, w += s.out_channels) {
        V near[vectors];
        for (int v = 0; v < vectors; ++v) near[v] = Load(row + c + v * tile.x_step);
        for (int o = 0; o < channels; ++o) {
          const V factor = V{} + w[o];
          for (int v = 0; v < vectors; ++v) sums[o][v] = MulAdd(factor, near[v], sums[o][v]);
        }
      }
    }
  }
  const int64_t result_plane = s.out_rows * s.out_columns;
  for (int o = 0; o < channels; ++o) {
    for (int v = 0; v < vectors; ++v) {
      StoreFirst(y + o * result_plane + v * tile.y_step, sums[o][v], tile.columns - v * tile.fewer);
    }
  }
}

// All places of `channels` results, two vectors at a time where there are two.
template <int channels>
void ResultPlanes(const float* x, const float* w, const float* bias, float* y,
                  const DirectSizes& s) {
  const int64_t stride = s.row_stride();
  for (int64_t q = 0; q < s.out_columns;) {
    const int64_t columns = s.out_columns - q;
    const float* from = x + q;
    float* to = y + q;
    if (columns > kLanes) {
      const Tile tile = {kLanes, kLanes, columns, kLanes};
      for (int64_t p = 0; p < s.out_rows; ++p) {
        ResultTile<channels, 2>(from + p * stride, w, bias, to + p * s.out_columns, tile, s);
      }
      q += 2 * kLanes;
      continue;
    }
    const Tile tile = {stride, s.out_columns, columns, 0};
    int64_t p = 0;
    for (; p + 2 <= s.out_rows; p += 2) {
      ResultTile<channels, 2>(from + p * stride, w, bias, to + p * s.out_columns, tile, s);
    }
    if (p < s.out_rows) {
      ResultTile<channels, 1>(from + p * stride, w, bias, to + p * s.out_columns, tile, s);
    }
    q += kLanes;
  }
}

void Image(const float* x, const float* w, const float* bias, float* y, const DirectSizes& s) {
  constexpr int kMost = kSums >= 16 ? 8 : 4;
  constexpr int kFewer = kSums >= 16 ? 6 : 3;
  const int64_t plane = s.out_rows * s.out_columns;
  for (int64_t o = 0; o < s.out_channels;) {
    const int64_t left = s.out_channels - o;
    const float* b = bias ? bias + o : nullptr;
    if (left >= kMost) {
      ResultPlanes<kMost>(x, w + o, b, y + o * plane, s);
      o += kMost;
    } else if (left >= kFewer) {
      ResultPlanes<kFewer>(x, w + o, b, y + o * plane, s);
      o += kFewer;
    } else {
      ResultPlanes<1>(x, w + o, b, y + o * plane, s);
      o += 1;
    }
  }
}

// ---- Weights: one row of `filters` filters, of one channel, at once.

inline float LaneSum(V v) {
  float lanes[kLanes];
  WholeVector<float>{0}.Store(lanes, v);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

template <int filters, int columns>
void WeightRow(const float* x, const float* dy, float* dw, int64_t images, const DirectSizes& s) {
  V sums[filters][columns] = {};
  const int64_t result_plane = s.out_rows * s.result_stride();
  for (int64_t n = 0; n < images; ++n, x += s.image(), dy += s.result()) {
    for (int64_t p = 0; p < s.out_rows; ++p) {
      const float* row = x + p * s.row_stride();
      const float* result = dy + p * s.result_stride();
      for (int64_t q = 0; q < s.out_columns; q += kLanes) {
        V given[filters];
        for (int f = 0; f < filters; ++f) given[f] = Load(result + f * result_plane + q);
        for (int c = 0; c < columns; ++c) {
          const V near = Load(row + q + c);
          for (int f = 0; f < filters; ++f) sums[f][c] = MulAdd(near, given[f], sums[f][c]);
        }
      }
    }
  }
  const int64_t filter = s.in_channels * s.kernel_rows * s.kernel_columns;
  for (int f = 0; f < filters; ++f) {
    for (int c = 0; c < columns; ++c) dw[f * filter + c] += LaneSum(sums[f][c]);
  }
}

template <int columns>
void Weights(const float* x, const float* dy, float* dw, int64_t images, int64_t first,
             int64_t last, const DirectSizes& s) {
  constexpr int kMost = kSums / columns >= 8   ? 8
                        : kSums / columns >= 4 ? 4
                        : kSums / columns >= 2 ? 2
                                               : 1;
  const int64_t plane = s.rows() * s.row_stride(), filter = s.in_channels * s.kernel_rows * columns;
  for (int64_t i = 0; i < s.in_channels; ++i) {
    for (int64_t r = 0; r < s.kernel_rows; ++r) {
      const float* from = x + i * plane + r * s.row_stride();
      float* to = dw + (i * s.kernel_rows + r) * columns;
      int64_t o = first;
      for (; o + kMost <= last; o += kMost) {
        WeightRow<kMost, columns>(from, dy + o * s.out_rows * s.result_stride(), to + o * filter,
                                  images, s);
      }
      for (; o < last; ++o) {
        WeightRow<1, columns>(from, dy + o * s.out_rows * s.result_stride(), to + o * filter,
                              images, s);
      }
    }
  }
}

void AnyWeights(const float* x, const float* dy, float* dw, int64_t images, int64_t first,
                int64_t last, const DirectSizes& s) {
  switch (s.kernel_columns) {
    case 1:
      return Weights<1>(x, dy, dw, images, first, last, s);
    case 2:
      return Weights<2>(x, dy, dw, images, first, last, s);
    case 3:
      return Weights<3>(x, dy, dw, images, first, last, s);
    case 4:
      return Weights<4>(x, dy, dw, images, first, last, s);
    case 5:
      return Weights<5>(x, dy, dw, images, first, last, s);
    case 6:
      return Weights<6>(x, dy, dw, images, first, last, s);
    default:
      return Weights<7>(x, dy, dw, images, first, last, s);
  }
}

}  // namespace

const DirectFunctions& GetDirectFunctions() {
  static const DirectFunctions functions = {Image, AnyWeights};
  return functions;
}

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/table/row_kernels_simd.h"

#include <cmath>
#include <cstring>

#include "catamaran/base/float_bits.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

void DecodeBf16(const uint32_t* __restrict words, int64_t columns, float* __restrict out) {
  const int64_t pairs = columns / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    out[2 * i] = AsFloat(words[i] << 16);
    out[2 * i + 1] = AsFloat(words[i] & 0xffff0000u);
  }
  if (columns % 2 != 0) out[columns - 1] = AsFloat(words[pairs] << 16);
}

void DecodeInt8(const uint32_t* __restrict words, int64_t columns, float* __restrict out) {
  const float scale = AsFloat(words[0]);
  const auto* bytes = reinterpret_cast<const int8_t*>(words + 1);
  for (int64_t i = 0; i < columns; ++i) {
    out[i] = scale * static_cast<float>(static_cast<int32_t>(bytes[i]));
  }
}

// The 16 bits that are cut off decide, with a draw of 16 bits, whether the rest goes up. A finite
// number stays finite; a NaN stays one.
inline uint32_t RoundBf16(float value, uint32_t random) {
  const uint32_t bits = AsBits(value);
  const auto size = static_cast<int32_t>(bits & 0x7fffffffu);
  const uint32_t cut = bits >> 16;
  uint32_t rounded = (bits + random) >> 16;
  rounded = (rounded & 0x7fffu) == 0x7f80u ? cut : rounded;
  rounded = size >= 0x7f800000 ? cut : rounded;
  return size > 0x7f800000 ? (cut | 0x40u) : rounded;
}

void EncodeBf16(const float* __restrict values, const uint16_t* __restrict random, int64_t columns,
                uint32_t* __restrict words) {
  const int64_t pairs = columns / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    words[i] = RoundBf16(values[2 * i], random[2 * i]) |
               RoundBf16(values[2 * i + 1], random[2 * i + 1]) << 16;
  }
  if (columns % 2 != 0) words[pairs] = RoundBf16(values[columns - 1], random[columns - 1]);
}

void EncodeInt8(const float* __restrict values, const uint16_t* __restrict random, int64_t columns,
                uint32_t* __restrict words) {
  // The largest size, as the bits of a float that is not negative: they order as the floats do,
  // infinity and NaN last.
  int32_t most = 0;
  for (int64_t i = 0; i < columns; ++i) {
    const auto size = static_cast<int32_t>(AsBits(values[i]) & 0x7fffffffu);
    most = size > most ? size : most;
  }
  words[(columns + 3) / 4] = 0;  // the end of the last word; written before the bytes are
  auto* bytes = reinterpret_cast<int8_t*>(words + 1);
  if (most >= 0x7f800000) {  // a row that holds a number which is not finite reads as NaN
    words[0] = 0x7fc00000u;
    for (int64_t i = 0; i < columns; ++i) bytes[i] = 0;
    return;
  }
  const float scale = AsFloat(static_cast<uint32_t>(most)) / 127.0f;
  // Sizes so small that their scale has few bits are kept as zeros.
  const bool small = scale < 1.17549435e-38f;
  words[0] = small ? 0 : AsBits(scale);
  const float inverse = small ? 0.0f : 1.0f / scale;
  for (int64_t i = 0; i < columns; ++i) {
    const float draw = (static_cast<float>(static_cast<int32_t>(random[i])) + 0.5f) * 0x1p-16f;
    // 128 makes it positive, so that cutting is rounding down.
    float level = values[i] * inverse + draw;
    level = level > 127.5f ? 127.5f : level;
    level = level < -127.0f ? -127.0f : level;
    bytes[i] = static_cast<int8_t>(static_cast<int32_t>(level + 128.0f) - 128);
  }
}

// A width that is known needs no loop.
constexpr int64_t kCommonColumns = 16;

template <class F>
inline void ForColumns(int64_t columns, F&& f) {
  if (columns == kCommonColumns) {
    for (int64_t i = 0; i < kCommonColumns; ++i) f(i);
  } else {
    for (int64_t i = 0; i < columns; ++i) f(i);
  }
}

void Assign(const float* __restrict gradient, float factor, float scale, int64_t columns,
            float* __restrict sum) {
  ForColumns(columns, [&](int64_t i) { sum[i] = gradient[i] * factor * scale; });
}

void Add(const float* __restrict gradient, float factor, float scale, int64_t columns,
         float* __restrict sum) {
  ForColumns(columns, [&](int64_t i) { sum[i] += gradient[i] * factor * scale; });
}

// rules::RowwiseAdagrad of one row of whole vectors, with the same bits. The sum of squares stays
// in registers, so that a row does not wait for its own stores: it is what an update waits for.
typedef float Lanes16 __attribute__((vector_size(64)));
typedef float Lanes8 __attribute__((vector_size(32)));
typedef float Lanes4 __attribute__((vector_size(16)));

inline void LoadLanes(const float* from, Lanes16& lanes) {
  std::memcpy(&lanes, from, sizeof(lanes));
}

inline float MeanSquare(const float* gradient, int64_t columns) {
  Lanes16 x;
  LoadLanes(gradient, x);
  Lanes16 squares = x * x;
  for (int64_t i = 16; i < columns; i += 16) {
    LoadLanes(gradient + i, x);
    squares += x * x;
  }
  const Lanes8 eight = __builtin_shufflevector(squares, squares, 0, 1, 2, 3, 4, 5, 6, 7) +
                       __builtin_shufflevector(squares, squares, 8, 9, 10, 11, 12, 13, 14, 15);
  const Lanes4 four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                      __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  const Lanes4 two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  return (two[0] + two[1]) / static_cast<float>(columns);
}

inline void MoveRowwise(float rate, float epsilon, float* row, float* slot, const float* gradient,
                        int64_t columns) {
  const float total = *slot + MeanSquare(gradient, columns);
  *slot = total;
  rate /= std::sqrt(total) + epsilon;
  for (int64_t i = 0; i < columns; i += 16) {
    Lanes16 x, w;
    LoadLanes(gradient + i, x);
    LoadLanes(row + i, w);
    w -= rate * x;
    std::memcpy(row + i, &w, sizeof(w));
  }
}

void Update(const rules::Factors<float>& factors, float* row, const float* gradient,
            float* const* slots, int64_t columns) {
  if (IsPlainRowwise(factors, columns)) {
    MoveRowwise(factors.rate, factors.epsilon, row, slots[0], gradient, columns);
  } else {
    rules::Apply(factors, row, gradient, slots, 1, columns);
  }
}

void UpdateRowwise(const RowwiseStep& step, float* row, const float* gradient) {
  if (step.columns == kCommonColumns) {
    MoveRowwise(step.rate, step.epsilon, row, row + kCommonColumns, gradient, kCommonColumns);
  } else {
    MoveRowwise(step.rate, step.epsilon, row, row + step.columns, gradient, step.columns);
  }
}

}  // namespace

RowKernels GetRowKernels() {
  return {DecodeBf16, DecodeInt8, EncodeBf16, EncodeInt8, Assign, Add, Update, UpdateRowwise};
}

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/table/row_kernels_simd.h"

#include "catamaran/base/float_bits.h"
#include "catamaran/table/rowwise_simd.h"

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

bool Update(const rules::Factors<float>& factors, float* row, const float* gradient,
            float* const* slots, int64_t columns) {
  return IsPlainRowwise(factors, columns) ? MoveRowwise(factors.rate, factors.epsilon, row,
                                                        slots[0], PlainGradient{gradient}, columns)
                                          : rules::Apply(factors, row, gradient, slots, 1, columns);
}

}  // namespace

RowKernels GetRowKernels() {
  return {DecodeBf16, DecodeInt8, EncodeBf16, EncodeInt8, Assign, Add, Update};
}

}  // namespace catamaran::CATAMARAN_ISA

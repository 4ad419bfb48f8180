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

inline float MeanSquare(const float* gradient, int64_t columns) {
  Lanes16 squares = {};
  for (int64_t i = 0; i < columns; i += 16) {
    Lanes16 x;
    std::memcpy(&x, gradient + i, sizeof(x));
    squares += x * x;
  }
  const Lanes8 eight = __builtin_shufflevector(squares, squares, 0, 1, 2, 3, 4, 5, 6, 7) +
                       __builtin_shufflevector(squares, squares, 8, 9, 10, 11, 12, 13, 14, 15);
  const Lanes4 four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                      __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  const float sum = (four[0] + four[2]) + (four[1] + four[3]);
  return sum / static_cast<float>(columns);
}

inline void Move(float* row, const float* gradient, float rate, int64_t columns) {
  for (int64_t i = 0; i < columns; i += 16) {
    Lanes16 x, w;
    std::memcpy(&x, gradient + i, sizeof(x));
    std::memcpy(&w, row + i, sizeof(w));
    w -= rate * x;
    std::memcpy(row + i, &w, sizeof(w));
  }
}

inline bool IsPlainRowwise(const rules::Factors<float>& f, int64_t columns) {
  return f.rule == rules::Rule::kRowwiseAdagrad && !f.penalty && columns % 16 == 0;
}

void Update(const rules::Factors<float>& factors, float* row, const float* gradient,
            float* const* slots, int64_t columns) {
  if (!IsPlainRowwise(factors, columns)) {
    rules::Apply(factors, row, gradient, slots, 1, columns);
    return;
  }
  const float total = *slots[0] + MeanSquare(gradient, columns);
  *slots[0] = total;
  Move(row, gradient, factors.rate / (std::sqrt(total) + factors.epsilon), columns);
}

// Side by side. kColumns: how many, or 0 for `columns`.
template <int64_t kColumns>
inline void UpdateRowwise(const rules::Factors<float>& factors, float* const* rows,
                          const float* const* gradients, int64_t slot, int64_t count,
                          int64_t columns) {
  if (kColumns > 0) columns = kColumns;
  float totals[kMaxUpdatedRows] = {}, rates[kMaxUpdatedRows];
  for (int64_t r = 0; r < count; ++r) {
    totals[r] = rows[r][slot] + MeanSquare(gradients[r], columns);
  }
  // All of them, used or not: whole vectors.
  for (int64_t r = 0; r < kMaxUpdatedRows; ++r) {
    rates[r] = factors.rate / (std::sqrt(totals[r]) + factors.epsilon);
  }
  for (int64_t r = 0; r < count; ++r) {
    rows[r][slot] = totals[r];
    Move(rows[r], gradients[r], rates[r], columns);
  }
}

void UpdateRows(const rules::Factors<float>& factors, float* const* rows,
                const float* const* gradients, const int64_t* slots, int64_t count,
                int64_t columns) {
  if (!IsPlainRowwise(factors, columns)) {
    for (int64_t r = 0; r < count; ++r) {
      float* at[3] = {rows[r] + slots[0], rows[r] + slots[1], rows[r] + slots[2]};
      rules::Apply(factors, rows[r], gradients[r], at, 1, columns);
    }
  } else if (columns == kCommonColumns) {
    UpdateRowwise<kCommonColumns>(factors, rows, gradients, slots[0], count, columns);
  } else {
    UpdateRowwise<0>(factors, rows, gradients, slots[0], count, columns);
  }
}

}  // namespace

RowKernels GetRowKernels() {
  return {DecodeBf16, DecodeInt8, EncodeBf16, EncodeInt8, Assign, Add, Update, UpdateRows};
}

}  // namespace catamaran::CATAMARAN_ISA

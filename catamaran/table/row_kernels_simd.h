// table/row_kernels_simd.h
//
// The loops over the columns of a row, compiled once for every instruction set; all give the same
// bits.

#pragma once

#include <cstdint>

#include "catamaran/table/update_rules.h"

namespace catamaran {

// A step of row-wise adagrad without penalties on rows of whole vectors; what a row needs of it.
struct RowwiseStep {
  float rate = 0;
  float epsilon = 0;
  int64_t columns = 0;
};
// Whether that is what a rule does.
static inline bool IsPlainRowwise(const rules::Factors<float>& factors, int64_t columns) {
  return factors.rule == rules::Rule::kRowwiseAdagrad && !factors.penalty && columns % 16 == 0;
}

// Makes numbers of the words of an embedding.
using DecodeRowFn = void (*)(const uint32_t* words, int64_t columns, float* out);

struct RowKernels {
  // The numbers of an embedding in bf16, two a word, or int8 behind their scale, four a word.
  DecodeRowFn decode_bf16;
  DecodeRowFn decode_int8;
  // Rounded up or down as the random bits say, 16 for each number. What is left over of the last
  // word is 0.
  void (*encode_bf16)(const float* values, const uint16_t* random, int64_t columns,
                      uint32_t* words);
  void (*encode_int8)(const float* values, const uint16_t* random, int64_t columns,
                      uint32_t* words);
  // sum = gradient * factor * scale, multiplied in that order; or sum += that.
  void (*assign)(const float* gradient, float factor, float scale, int64_t columns, float* sum);
  void (*add)(const float* gradient, float factor, float scale, int64_t columns, float* sum);
  // One step of an optimizer on one row. Whether a number was kept (update_rules.h).
  bool (*update)(const rules::Factors<float>& factors, float* row, const float* gradient,
                 float* const* slots, int64_t columns);
};

namespace plain {
RowKernels GetRowKernels();
}
namespace avx2 {
RowKernels GetRowKernels();
}
namespace avx512 {
RowKernels GetRowKernels();
}

}  // namespace catamaran

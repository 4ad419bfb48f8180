// ops/sparse/bag_simd.h
//
// Vector code that pools rows of a matrix into one row a bag, for each instruction set. Plain data
// only. The order of additions depends on the arguments alone (that of the ids, where there are
// any), so every instruction set and every split gives the same bits.

#pragma once

#include <cstdint>

namespace catamaran {

// What becomes of the rows of a bag; the first three are those of Pool in tensor/rows_value.h.
enum BagPool : int64_t { kBagSum = 1, kBagMean, kBagSqrt, kBagMax };

// Bags [first, last). A bag without ids, and one whose weights add up to nothing, becomes zeros.
struct BagJob {
  const void* w;           // [rows, width]
  const void* ids;         // [num_ids] of id_bytes each
  int64_t id_bytes;        // 4: i32; 8: i64 or u64; 0: row k of w is that of position k
  const void* weights;     // [num_ids] of w's element, or null; not with kBagMax
  const int64_t* offsets;  // bag b is ids [offsets[b], offsets[b + 1]); null: stride each
  void* y;                 // [bags, width]
  int64_t stride;
  int64_t first, last;
  int64_t num_ids;
  int64_t width;
  int64_t pool;
  int64_t has_padding, padding;  // ids that equal it are left out
};

enum BagElement { kBagF32, kBagF64, kBagF16, kBagBF16, kBagElements };

struct BagFunctions {
  void (*pool[kBagElements])(const BagJob& job);
  // dots[k] = the row of id k times that of its bag in `dy`; 0 for padding. f32 or f64.
  void (*dots_f32)(const BagJob& job, const float* dy, float* dots);
  void (*dots_f64)(const BagJob& job, const double* dy, double* dots);
  // The rows of ids [first, last) as they are, bit for bit.
  void (*copy_i32)(const BagJob& job, int64_t row_bytes);
  void (*copy_i64)(const BagJob& job, int64_t row_bytes);
  // The position of the first id that is no row and no padding; -1 when there is none. u64 goes as
  // i64.
  int64_t (*find_outside_i32)(const void* ids, int64_t num_ids, int64_t rows, int64_t has_padding,
                              int64_t padding);
  int64_t (*find_outside_i64)(const void* ids, int64_t num_ids, int64_t rows, int64_t has_padding,
                              int64_t padding);
};

namespace plain {
extern const BagFunctions kBagFunctions;
}
namespace avx2 {
extern const BagFunctions kBagFunctions;
}
namespace avx512 {
extern const BagFunctions kBagFunctions;
}

}  // namespace catamaran

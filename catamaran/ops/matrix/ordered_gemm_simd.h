// ops/matrix/ordered_gemm_simd.h
//
// Vector code of ordered_gemm.h: one table for each instruction set that can multiply and add in
// one rounding. Plain data only.

#pragma once

#include <cstdint>

namespace catamaran {

// c = start + a b, row-major; where `start` is null it is zeros, and it may be c.
struct OrderedProduct {
  int64_t m, n, k;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  const float* start;
  int64_t ld_start;
  float* c;
  int64_t ldc;
};

// Memory for what is copied before it is multiplied, aligned to 64 bytes.
struct PackedMemory {
  float* panels;  // columns of b: `room` numbers, at least kMostPanel * k
  int64_t room;
  float* rows;  // of a: kMostRows * (k + 32) numbers
};
constexpr int64_t kMostPanel = 32, kMostRows = 14;

struct OrderedGemmTable {
  // With `memory`, for k > 0, or without: b is read where it lies, which is better for few rows.
  void (*multiply)(const OrderedProduct& product, const PackedMemory* memory);
};

namespace avx2 {
extern const OrderedGemmTable kOrderedGemm;
}
namespace avx512 {
extern const OrderedGemmTable kOrderedGemm;
}

}  // namespace catamaran

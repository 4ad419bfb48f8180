// ops/matrix/ordered_gemm.h
//
// Products of f32 matrices whose sums are added up in the order of k, each by one chain of fused
// multiply-adds. A row of the result depends on nothing but its own row of a: not on how many rows
// there are, nor on threads. And a product over columns that were put together can be taken apart,
// bit for bit:
//
//   [u, v] · w   =   OrderedGemm(u · w1 as start, v, w2)
//
// AVX2 and AVX-512 give the same bits. For serving, where a list's rows share a user (serve/model).
//
// Thread safety: functions.

#pragma once

#include <cstdint>

#include "catamaran/base/cpu.h"

namespace catamaran {

// Whether there is code for the instruction set.
bool HasOrderedGemm(Isa isa);

// c[m, n] = start[m, n] + a[m, k] b[k, n], row-major, on the calling thread. Without a start, from
// zeros; start may be c.
// REQUIRES: HasOrderedGemm(isa).
void OrderedGemm(Isa isa, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                 const float* b, int64_t ldb, const float* start, int64_t ld_start, float* c,
                 int64_t ldc);

}  // namespace catamaran

// ops/matrix/matmul.h
//
// What matmul and its relatives share: the reference, sizes of one run, and the kernels.

#pragma once

#include <cstddef>
#include <cstdint>

#include "catamaran/ir/op_set.h"

// reference-begin
namespace catamaran::reference {

// `batch` products of op(a)[m, k] with op(b)[k, n]. Product q lies at the index of q in `dims`;
// each axis has its step in a and in b, 0 where that operand is shared. `folded`: the rows of all
// matrices of a are rows of one product.
struct MatmulSizes {
  int64_t m, n, k, transpose_a, transpose_b, folded, batch, rank;
  int64_t dims[6];
  int64_t a_step[6];
  int64_t b_step[6];
};

// Where product q begins in the operand with these steps.
inline int64_t MatmulOffset(int64_t q, const int64_t* step, const MatmulSizes& s) {
  int64_t at = 0;
  for (int64_t axis = s.rank - 1; axis > 0; --axis) {
    at += q % s.dims[axis] * step[axis];
    q /= s.dims[axis];
  }
  return s.rank > 0 ? at + q * step[0] : at;
}

template <class T>
void Matmul(const T* a, const T* b, T* y, const MatmulSizes& s) {
  const int64_t a_row = s.transpose_a ? 1 : s.k, a_column = s.transpose_a ? s.m : 1;
  const int64_t b_row = s.transpose_b ? 1 : s.n, b_column = s.transpose_b ? s.k : 1;
  for (int64_t q = 0; q < s.batch; ++q) {
    const T* a_q = a + MatmulOffset(q, s.a_step, s);
    const T* b_q = b + MatmulOffset(q, s.b_step, s);
    for (int64_t i = 0; i < s.m; ++i, y += s.n) {
      for (int64_t j = 0; j < s.n; ++j) y[j] = T(0);
      for (int64_t p = 0; p < s.k; ++p) {
        const T x = a_q[i * a_row + p * a_column];
        for (int64_t j = 0; j < s.n; ++j) {
          y[j] = static_cast<T>(y[j] + x * b_q[p * b_row + j * b_column]);
        }
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

// Fills the struct for operands stored in these shapes. Vectors are [k].
reference::MatmulSizes MatmulSizesOf(const Shape& a, const Shape& b, bool transpose_a,
                                     bool transpose_b);
void WriteMatmulSizes(const reference::MatmulSizes& sizes, Words& words);

// The kernels of an op that has MatmulSizes, and its cost. `leading`: it is matmul_leading.
void AddMatmulKernels(OpBuilder& op, bool leading);

}  // namespace catamaran

// ops/shape/strided_copy.h
//
// The reference that expand and transpose share: a tensor whose elements come from x by one stride
// for each axis.

#pragma once

#include <cstddef>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

struct StridedSizes {
  int64_t rank;
  int64_t dims[8];     // of the result
  int64_t strides[8];  // in x, of the result's axes; 0 where x is repeated
};

template <class T>
void StridedCopy(const T* x, T* y, const StridedSizes& s) {
  int64_t count = 1;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.dims[a];
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i, at = 0;
    for (int64_t a = s.rank - 1; a >= 0; --a) {
      at += left % s.dims[a] * s.strides[a];
      left /= s.dims[a];
    }
    y[i] = x[at];
  }
}

}  // namespace catamaran::reference
// reference-end

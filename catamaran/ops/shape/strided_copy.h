// ops/shape/strided_copy.h
//
// The references that most moving ops share: StridedCopy makes a tensor whose elements come from x
// by one stride for each axis; StridedPlace is the other way round, and puts x into zeros.

#pragma once

#include <cstddef>
#include <cstdint>

// reference-begin
namespace catamaran::reference {

struct StridedSizes {
  int64_t rank;
  int64_t offset;       // of the first element, in the side that has strides
  int64_t dims[16];     // of the side without
  int64_t strides[16];  // of those axes, in the other side; 0 where x is repeated
  int64_t whole;        // elements of the side that has strides
  int64_t place;        // 1: the side that has strides is the result
  int64_t x_leading;    // the first dimensions of x and of the result these were made for
  int64_t y_leading;
};

// Where element i of the side without strides lies in the other.
inline int64_t StridedPosition(int64_t i, const StridedSizes& s) {
  int64_t at = s.offset;
  for (int64_t a = s.rank - 1; a >= 0; --a) {
    at += i % s.dims[a] * s.strides[a];
    i /= s.dims[a];
  }
  return at;
}

inline int64_t StridedCount(const StridedSizes& s) {
  int64_t count = 1;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.dims[a];
  return count;
}

template <class T>
void StridedCopy(const T* x, T* y, const StridedSizes& s) {
  const int64_t count = StridedCount(s);
  for (int64_t i = 0; i < count; ++i) y[i] = x[StridedPosition(i, s)];
}

// `like` only lends its shape.
template <class T, class L>
void StridedPlace(const T* x, const L*, T* y, const StridedSizes& s) {
  for (int64_t i = 0; i < s.whole; ++i) y[i] = T(0);
  const int64_t count = StridedCount(s);
  for (int64_t i = 0; i < count; ++i) y[StridedPosition(i, s)] = x[i];
}

// The same for an op that has nothing but x.
template <class T>
void StridedEmbed(const T* x, T* y, const StridedSizes& s) {
  StridedPlace(x, x, y, s);
}

// The one or the other, as `place` says.
template <class T>
void StridedEither(const T* x, T* y, const StridedSizes& s) {
  if (s.place != 0) {
    StridedEmbed(x, y, s);
  } else {
    StridedCopy(x, y, s);
  }
}

}  // namespace catamaran::reference
// reference-end

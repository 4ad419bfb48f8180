// tensor/cast.h
//
// Conversion between dtypes, the same everywhere: the op `cast`, the loaders and constants in
// program text all mean this. Nothing here fails on a value:
//
//   to a float      rounded to nearest even; too large becomes infinite; NaN stays NaN
//   float to integer   cut off towards zero; NaN gives 0; out of range gives the nearest end
//   integer to integer the low bits (two's complement), as in C
//   to bool         false for 0 and -0, true for all else, NaN too
//   bool to number  0 or 1

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "catamaran/tensor/tensor.h"
#include "catamaran/tensor/tensor_view.h"

namespace catamaran {

// One element. To and From are any of the ten element types.
template <class To, class From>
To CastElement(From value);

// Converts every element of `from` into `to`. An Error if the shapes differ.
// REQUIRES: the two do not overlap, unless they are the same memory and the same dtype.
void CastInto(const TensorView& from, const TensorView& to);

// A tensor of `dtype` with the converted elements; `tensor` itself, sharing its memory, if it
// has that dtype already.
Tensor Cast(const Tensor& tensor, DType dtype);

// ---- Implementation ----

namespace cast_internal {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

// Without branches and without ever converting what does not fit, which C++ leaves undefined.
template <class To, class From>
To Truncate(From value) {
  constexpr int kBits = std::numeric_limits<To>::digits;
  constexpr From kEnd = From(uint64_t{1} << (kBits - 1)) * From(2);  // the first too large
  constexpr From kLast = kBits > std::numeric_limits<From>::digits
                             ? kEnd - kEnd * std::numeric_limits<From>::epsilon() / 2
                             : From(std::numeric_limits<To>::max());
  constexpr From kLowest = From(std::numeric_limits<To>::lowest());
  From inside = value == value ? value : From(0);
  inside = inside < kLowest ? kLowest : inside;
  inside = inside > kLast ? kLast : inside;
  const To cut = static_cast<To>(inside);
  return value >= kEnd ? std::numeric_limits<To>::max() : cut;
}

}  // namespace cast_internal

template <class To, class From>
To CastElement(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (cast_internal::kIsHalf<From>) {
    return CastElement<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return cast_internal::Truncate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace catamaran

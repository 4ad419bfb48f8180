// tensor/shape.h
//
// A Shape is the list of a tensor's dimensions, outermost first; the shape of a scalar is empty.
// It is a plain value of fixed capacity: copying it allocates nothing. Dimensions are never
// negative; 0 is legal and means no elements.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

namespace catamaran {

inline constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;  // a scalar's

  // An Error if there are more than kMaxRank dimensions or a negative one.
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }

  // REQUIRES: 0 <= axis < rank().
  int64_t operator[](int axis) const { return dims_[axis]; }

  // The dimension of `axis`, which may count from the end (-1 is the last). An Error if there is
  // no such axis.
  int64_t dim(int axis) const;

  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }

  // Both check as the constructors do.
  void Append(int64_t dim);
  void Set(int axis, int64_t dim);

  // The product of the dimensions. An Error if the product of those that are not 0 does not fit
  // in 63 bits, even if the result is 0: row-major strides then fit too.
  int64_t num_elements() const {
    int64_t product = 1;
    bool empty = false;
    for (int64_t dim : dims()) {
      if (dim == 0) {
        empty = true;
      } else if (__builtin_mul_overflow(product, dim, &product)) {
        FailOverflow();
      }
    }
    return empty ? 0 : product;
  }

  // Elements between neighbours along each axis of a contiguous row-major tensor; entries from
  // rank() on are 0.
  std::array<int64_t, kMaxRank> RowMajorStrides() const;

  // "[2, 3]"; "[]" for a scalar.
  std::string ToString() const;

  // Unused entries are always 0, so that comparing all of them is right.
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  [[noreturn]] void FailOverflow() const;

  std::array<int64_t, kMaxRank> dims_ = {};
  int32_t rank_ = 0;
};

// Prints ToString(); GoogleTest uses it.
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace catamaran

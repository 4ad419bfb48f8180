// tensor/tensor.h
//
// A Tensor is a dtype, a shape and a stretch of reference-counted memory that holds the elements,
// contiguous and row-major. Copying a Tensor, reshaping it and slicing its leading axis share the
// memory; Clone and everything else copies. Memory that is shared is not written to: whoever
// allocates a tensor fills it before handing it on, and from then on it is immutable.
//
// Thread safety: as an int. The reference count is atomic, so copies of one tensor may be used
// and dropped on any threads; reading the elements from many threads is safe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/memory.h"
#include "catamaran/tensor/dtype.h"
#include "catamaran/tensor/shape.h"
#include "catamaran/tensor/tensor_view.h"

namespace catamaran {

class Tensor {
 public:
  // No elements and no memory: f32[0].
  Tensor() : shape_{0} {}

  // Elements are not initialized.
  static Tensor Allocate(DType dtype, const Shape& shape, Allocator& allocator = SystemAllocator());
  static Tensor Zeros(DType dtype, const Shape& shape, Allocator& allocator = SystemAllocator());

  // A copy of `values`, in row-major order. An Error if their number is not that of the shape.
  //   Tensor::From<float>({2, 2}, {1, 2, 3, 4})
  template <class T>
  static Tensor From(const Shape& shape, std::span<const T> values) {
    return Copy(DTypeOf<T>, shape, values.data(), values.size());
  }
  template <class T>
  static Tensor From(const Shape& shape, std::initializer_list<T> values) {
    return Copy(DTypeOf<T>, shape, values.begin(), values.size());
  }
  // A vector of the shape [values.size()], or of `shape`.
  template <class T>
  static Tensor FromVector(const std::vector<T>& values) {
    return From<T>({static_cast<int64_t>(values.size())}, values);
  }
  template <class T>
  static Tensor FromVector(const Shape& shape, const std::vector<T>& values) {
    return From<T>(shape, values);
  }

  template <class T>
  static Tensor Scalar(T value) {
    return From<T>({}, std::span<const T>(&value, 1));
  }

  // Memory of someone else's, used in place. `release(context)` is called when the last tensor
  // that shares it is gone, on the thread that drops it; without a `release` the caller keeps the
  // memory alive. An Error, and no call of `release`, if `data` is not aligned for the dtype.
  static Tensor Wrap(void* data, DType dtype, const Shape& shape,
                     BufferRef::Release release = nullptr, void* context = nullptr);

  // A part of `buffer`, from `byte_offset` on. An Error if it does not hold that much or the
  // elements would not be aligned.
  static Tensor FromBuffer(BufferRef buffer, size_t byte_offset, DType dtype, const Shape& shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_.dim(axis); }  // as Shape::dim
  int64_t num_elements() const { return shape_.num_elements(); }
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * SizeOf(dtype_); }

  // The elements. An Error if T is not the C++ type of dtype().
  template <class T>
  std::span<const T> data() const {
    CheckDType(DTypeOf<T>);
    return {static_cast<const T*>(raw_data()), static_cast<size_t>(num_elements())};
  }

  // REQUIRES: nobody else reads this memory yet.
  template <class T>
  std::span<T> mutable_data() {
    CheckDType(DTypeOf<T>);
    return {static_cast<T*>(mutable_raw_data()), static_cast<size_t>(num_elements())};
  }

  // The only element. An Error if there is not exactly one, or as data().
  template <class T>
  T item() const {
    CheckOneElement();
    return data<T>()[0];
  }

  // Null only if there are no elements.
  const void* raw_data() const { return data_; }
  void* mutable_raw_data() { return data_; }

  // What kernels take. It is good while a tensor that shares this memory is; kernels write only
  // to views of memory that nobody else reads yet.
  TensorView view() const { return {data_, dtype_, shape_}; }

  const BufferRef& buffer() const { return buffer_; }

  // The same elements under another shape, sharing memory. An Error if the numbers differ.
  Tensor Reshape(const Shape& shape) const;

  // Entries [begin, end) of the leading axis, sharing memory. An Error for a scalar or unless
  // 0 <= begin <= end <= dim(0).
  Tensor SliceLeading(int64_t begin, int64_t end) const;

  // A copy in memory of its own.
  Tensor Clone(Allocator& allocator = SystemAllocator()) const;

  // Same dtype, same shape, same bits (so a NaN equals itself and 0 differs from -0).
  bool Equals(const Tensor& other) const;

  // "f32[2, 2] [[1, 2],\n [3, 4]]"; long axes are shortened to their first and last three.
  std::string ToString() const;

 private:
  static Tensor Copy(DType dtype, const Shape& shape, const void* values, size_t count);
  void CheckDType(DType wanted) const {
    if (dtype_ != wanted) FailDType(wanted);
  }
  [[noreturn]] void FailDType(DType wanted) const;
  void CheckOneElement() const;

  BufferRef buffer_;
  void* data_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::kF32;
};

// Whether both have the same dtype and shape and |a - b| <= atol + rtol * |b| for every element.
// Infinities are close to themselves only; NaNs to NaNs if `equal_nan`.
bool AllClose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);

// For readers of files, before anyone looks at the elements: an Error that begins with `what` if
// `tensor` is a bool tensor with a byte other than 0 and 1, which C++ leaves undefined.
void CheckBoolBytes(const Tensor& tensor, std::string_view what);

// Prints ToString(); GoogleTest uses it.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace catamaran

// tensor/tensor.cc

#include "catamaran/tensor/tensor.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

// The bytes of a tensor, checked: sizes of tensors that exist never overflow afterwards.
size_t CheckedBytes(DType dtype, const Shape& shape) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.num_elements(), static_cast<int64_t>(SizeOf(dtype)), &bytes)) {
    Fail("tensor: {}{} has more bytes than fit in 63 bits", Name(dtype), shape.ToString());
  }
  return static_cast<size_t>(bytes);
}

void CheckAlignment(const void* data, DType dtype, const Shape& shape) {
  if (reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) != 0) {
    Fail("tensor: memory for {}{} is not aligned to {} bytes", Name(dtype), shape.ToString(),
         SizeOf(dtype));
  }
}

template <class Real, class T>
bool AllCloseElements(std::span<const T> a, std::span<const T> b, double rtol, double atol,
                      bool equal_nan) {
  for (size_t i = 0; i < a.size(); ++i) {
    const Real x = a[i];
    const Real y = b[i];
    if (x == y) continue;
    if (x != x && y != y && equal_nan) continue;
    if (std::isinf(x) || std::isinf(y)) return false;
    // So written that a NaN fails.
    if (!(std::abs(x - y) <= Real(atol) + Real(rtol) * std::abs(y))) return false;
  }
  return true;
}

}  // namespace

Tensor Tensor::Allocate(DType dtype, const Shape& shape, Allocator& allocator) {
  return FromBuffer(BufferRef::Allocate(CheckedBytes(dtype, shape), allocator), 0, dtype, shape);
}

Tensor Tensor::Zeros(DType dtype, const Shape& shape, Allocator& allocator) {
  Tensor tensor = Allocate(dtype, shape, allocator);
  if (tensor.num_bytes() > 0) std::memset(tensor.data_, 0, tensor.num_bytes());
  return tensor;
}

Tensor Tensor::Copy(DType dtype, const Shape& shape, const void* values, size_t count) {
  if (static_cast<size_t>(shape.num_elements()) != count) {
    Fail("tensor: {}{} has {} elements, but {} values were given", Name(dtype), shape.ToString(),
         shape.num_elements(), count);
  }
  Tensor tensor = Allocate(dtype, shape);
  if (count > 0) std::memcpy(tensor.data_, values, tensor.num_bytes());
  return tensor;
}

Tensor Tensor::Wrap(void* data, DType dtype, const Shape& shape, BufferRef::Release release,
                    void* context) {
  const size_t bytes = CheckedBytes(dtype, shape);
  CheckAlignment(data, dtype, shape);
  if (data == nullptr && bytes > 0) {
    Fail("tensor: no memory given for {}{}", Name(dtype), shape.ToString());
  }
  return FromBuffer(BufferRef::Wrap(data, bytes, release, context), 0, dtype, shape);
}

Tensor Tensor::FromBuffer(BufferRef buffer, size_t byte_offset, DType dtype, const Shape& shape) {
  const size_t bytes = CheckedBytes(dtype, shape);
  if (byte_offset > buffer.size() || bytes > buffer.size() - byte_offset) {
    Fail("tensor: {}{} takes {} bytes from byte {} on, but the buffer has {}", Name(dtype),
         shape.ToString(), bytes, byte_offset, buffer.size());
  }
  Tensor tensor;
  tensor.data_ = buffer.data() == nullptr ? nullptr : buffer.data() + byte_offset;
  CheckAlignment(tensor.data_, dtype, shape);
  tensor.buffer_ = std::move(buffer);
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::Reshape(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    Fail("reshape: {} has {} elements, {} has {}", shape_.ToString(), num_elements(),
         shape.ToString(), shape.num_elements());
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::SliceLeading(int64_t begin, int64_t end) const {
  if (rank() == 0) Fail("slice: a scalar has no leading axis");
  if (begin < 0 || begin > end || end > shape_[0]) {
    Fail("slice: [{}, {}) is not within the leading axis of {}", begin, end, shape_.ToString());
  }
  Tensor result = *this;
  const size_t bytes = num_bytes();
  result.shape_.Set(0, end - begin);
  if (bytes > 0) {
    const size_t row = bytes / static_cast<size_t>(shape_[0]);
    result.data_ = static_cast<std::byte*>(data_) + static_cast<size_t>(begin) * row;
  }
  return result;
}

Tensor Tensor::Clone(Allocator& allocator) const {
  Tensor copy = Allocate(dtype_, shape_, allocator);
  if (num_bytes() > 0) std::memcpy(copy.data_, data_, num_bytes());
  return copy;
}

bool Tensor::Equals(const Tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  return num_bytes() == 0 || data_ == other.data_ ||
         std::memcmp(data_, other.data_, num_bytes()) == 0;
}

void Tensor::FailDType(DType wanted) const {
  Fail("tensor: {}{} was asked for its elements as {}", Name(dtype_), shape_.ToString(),
       Name(wanted));
}

void Tensor::CheckOneElement() const {
  if (num_elements() != 1) {
    Fail("tensor: {}{} was asked for its only element, but has {}", Name(dtype_), shape_.ToString(),
         num_elements());
  }
}

bool AllClose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return DispatchAll(a.dtype(), [&]<class T>(T) {
    // 64-bit integers need more bits than a double has.
    using Real = std::conditional_t<sizeof(T) == 8 && std::is_integral_v<T>, long double, double>;
    return AllCloseElements<Real>(a.data<T>(), b.data<T>(), rtol, atol, equal_nan);
  });
}

void CheckBoolBytes(const Tensor& tensor, std::string_view what) {
  if (tensor.dtype() != DType::kBool) return;
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (bytes[i] > 1) {
      Fail(ErrorCode::kBadData, "{}: element {} of a bool tensor is the byte {}, wanted 0 or 1",
           what, i, bytes[i]);
    }
  }
}

}  // namespace catamaran

// data/buffer.h
//
// A growing array of numbers for columns: like std::vector, but growing does not set the new
// elements, the memory is aligned to a cache line, and kBufferSlack bytes behind the capacity may
// be read and written too, so that decoders can work in whole vectors. Clearing keeps the memory.
//
// Thread safety: as for std::vector.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/memory.h"

namespace catamaran {

inline constexpr size_t kBufferSlack = 64;

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer() { Free(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  std::span<const T> span() const { return {data_, size_}; }

  void clear() { size_ = 0; }

  // The elements that are new are not set.
  void resize(size_t size) {
    reserve(size);
    size_ = size;
  }

  void reserve(size_t capacity) {
    if (capacity > capacity_) Grow(capacity);
  }

  void push_back(T value) {
    if (size_ == capacity_) [[unlikely]] {
      Grow(size_ + 1);
    }
    data_[size_++] = value;
  }

  // Makes room for `count` more and returns where they begin; they are not set.
  T* Extend(size_t count) {
    resize(size_ + count);
    return data_ + size_ - count;
  }

  void Append(std::span<const T> values) {
    if (values.empty()) return;
    std::memcpy(Extend(values.size()), values.data(), values.size_bytes());
  }

 private:
  static constexpr size_t kMaxSize = (SIZE_MAX / 4) / sizeof(T);

  void Grow(size_t wanted) {
    if (wanted > kMaxSize)
      Fail(ErrorCode::kResourceExhausted, "a column of {} elements does not fit in memory", wanted);
    const size_t capacity = std::max({wanted, 2 * capacity_, 64 / sizeof(T)});
    T* grown = static_cast<T*>(SystemAllocator().Allocate(capacity * sizeof(T) + kBufferSlack));
    if (size_ > 0) std::memcpy(grown, data_, size_ * sizeof(T));
    Free();
    data_ = grown;
    capacity_ = capacity;
  }

  void Free() noexcept {
    if (data_ != nullptr) SystemAllocator().Free(data_, capacity_ * sizeof(T) + kBufferSlack);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace catamaran

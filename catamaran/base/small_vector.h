// base/small_vector.h
//
// SmallVector<T, N> is a std::vector whose first N elements live inside it: for operand lists,
// shapes and the like, which are nearly always short. It converts to std::span, and has the parts
// of std::vector's interface that such lists need.
//
// As with std::vector, growing moves the elements; unlike it, moving a SmallVector may move its
// elements too.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace catamaran {

template <typename T, size_t N>
class SmallVector {
  static_assert(N > 0);
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept = default;
  explicit SmallVector(size_t count) : SmallVector() { resize(count); }
  SmallVector(size_t count, const T& value) : SmallVector() { resize(count, value); }
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  template <std::forward_iterator Iterator>
  SmallVector(Iterator first, Iterator last) : SmallVector() {
    append(first, last);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept { Take(other); }

  ~SmallVector() {
    std::destroy_n(data_, size_);
    Release();
  }

  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    clear();
    Release();
    Take(other);
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(size_t capacity) {
    if (capacity > capacity_) Grow(capacity);
  }

  // `args` may refer to an element of this.
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T value(std::forward<Args>(args)...);
      Grow(size_ + 1);
      std::construct_at(data_ + size_, std::move(value));
    } else {
      std::construct_at(data_ + size_, std::forward<Args>(args)...);
    }
    return data_[size_++];
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }

  void pop_back() { std::destroy_at(data_ + --size_); }

  void clear() noexcept {
    std::destroy_n(data_, size_);
    size_ = 0;
  }

  void resize(size_t count) {
    Shrink(count);
    reserve(count);
    while (size_ < count) std::construct_at(data_ + size_), ++size_;
  }
  void resize(size_t count, const T& value) {
    Shrink(count);
    if (count > size_) {
      const T copy(value);
      reserve(count);
      while (size_ < count) std::construct_at(data_ + size_, copy), ++size_;
    }
  }

  // REQUIRES: the range is not part of this.
  template <std::forward_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    append(first, last);
  }
  void assign(size_t count, const T& value) {
    const T copy(value);
    clear();
    resize(count, copy);
  }

  // Adds the range at the end.
  // REQUIRES: the range is not part of this.
  template <std::forward_iterator Iterator>
  void append(Iterator first, Iterator last) {
    reserve(size_ + static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) std::construct_at(data_ + size_, *first), ++size_;
  }

  T* insert(const T* position, T value) {
    const size_t index = static_cast<size_t>(position - data_);
    emplace_back(std::move(value));
    std::rotate(data_ + index, end() - 1, end());
    return data_ + index;
  }

  T* erase(const T* position) { return erase(position, position + 1); }
  T* erase(const T* first, const T* last) {
    T* to = data_ + (first - data_);
    T* rest = std::move(data_ + (last - data_), end(), to);
    Shrink(static_cast<size_t>(rest - data_));
    return to;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator<(const SmallVector& a, const SmallVector& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* Inline() { return reinterpret_cast<T*>(inline_); }
  bool is_inline() const { return data_ == reinterpret_cast<const T*>(inline_); }

  void Shrink(size_t count) {
    if (count >= size_) return;
    std::destroy(data_ + count, data_ + size_);
    size_ = static_cast<uint32_t>(count);
  }

  void Grow(size_t least) {
    const size_t capacity = std::max(least, size_t{capacity_} * 2);
    T* grown = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data_, size_, grown);
    std::destroy_n(data_, size_);
    Release();
    data_ = grown;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  // Back to the inline storage; the elements are gone already.
  void Release() noexcept {
    if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = Inline();
    capacity_ = N;
  }

  // REQUIRES: this is empty and inline. Leaves `other` empty.
  void Take(SmallVector& other) noexcept {
    if (other.is_inline()) {
      std::uninitialized_move_n(other.data_, other.size_, data_);
      size_ = other.size_;
      other.clear();
    } else {
      data_ = std::exchange(other.data_, other.Inline());
      capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
      size_ = std::exchange(other.size_, 0);
    }
  }

  alignas(T) std::byte inline_[N * sizeof(T)];
  T* data_ = Inline();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
};

}  // namespace catamaran

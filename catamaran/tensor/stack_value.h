// tensor/stack_value.h
//
// What a loop keeps for its backward pass, while it runs: values pushed and popped last in,
// first out, copied into one growing stretch of memory. Clearing keeps the memory, so that the
// next run of the same program allocates nothing.

#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {

class StackValue {
 public:
  size_t size() const { return ends_.size(); }
  void Clear() {
    bytes_.clear();
    ends_.clear();
  }

  void Push(const void* data, size_t bytes) {
    const size_t begin = bytes_.size();
    bytes_.resize(begin + bytes);
    if (bytes > 0) std::memcpy(bytes_.data() + begin, data, bytes);
    ends_.push_back(begin + bytes);
  }

  // An Error when the stack is empty or its last value has another size.
  void Pop(void* data, size_t bytes) {
    if (ends_.empty()) Fail(ErrorCode::kInvalidProgram, "a value was popped from an empty stack");
    const size_t begin = ends_.size() > 1 ? ends_[ends_.size() - 2] : 0;
    if (ends_.back() - begin != bytes) {
      Fail(ErrorCode::kInvalidProgram, "the last value of the stack has {} bytes; wanted {}",
           ends_.back() - begin, bytes);
    }
    if (bytes > 0) std::memcpy(data, bytes_.data() + begin, bytes);
    bytes_.resize(begin);
    ends_.pop_back();
  }

 private:
  std::vector<std::byte> bytes_;
  std::vector<size_t> ends_;
};

}  // namespace catamaran

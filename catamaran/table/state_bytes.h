// table/state_bytes.h
//
// Small pieces of state as bytes (TableExtras), little-endian, and back.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "catamaran/base/error.h"

namespace catamaran {

class StateWriter {
 public:
  template <class T>
  void Put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    PutBytes(&value, sizeof(value));
  }
  void PutBytes(const void* bytes, size_t size) {
    out_.append(static_cast<const char*>(bytes), size);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Fails, naming `what`, when there are fewer or more bytes than are asked for.
class StateReader {
 public:
  StateReader(std::string_view what, std::string_view bytes) : what_(what), rest_(bytes) {}

  template <class T>
  T Get() {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    GetBytes(&value, sizeof(value));
    return value;
  }
  void GetBytes(void* to, size_t size) {
    if (size > rest_.size()) Fail(ErrorCode::kStorage, "table: the saved {} ends early", what_);
    std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
  }
  std::string GetString(size_t size) {
    if (size > rest_.size()) Fail(ErrorCode::kStorage, "table: the saved {} ends early", what_);
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  void End() const {
    if (!rest_.empty())
      Fail(ErrorCode::kStorage, "table: the saved {} is {} bytes too long", what_, rest_.size());
  }

 private:
  std::string_view what_, rest_;
};

}  // namespace catamaran

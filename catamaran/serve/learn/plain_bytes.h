// serve/learn/plain_bytes.h
//
// Plain values as bytes, one behind another: for what a commit keeps of measurements.

#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace catamaran {

template <class T>
void AppendPlain(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Off the front; false if there is too little.
template <class T>
bool TakePlain(std::string_view& bytes, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < sizeof(value)) return false;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return true;
}

}  // namespace catamaran

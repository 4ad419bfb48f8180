// base/unaligned.h
//
// Numbers in bytes that may begin anywhere, as files have them.

#pragma once

#include <cstring>

namespace catamaran::unaligned {

template <typename T>
T Load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
template <typename T>
void Store(void* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace catamaran::unaligned

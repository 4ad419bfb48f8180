// base/crc32c.h
//
// CRC-32C (Castagnoli), the checksum of every stored record.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace catamaran {

// The checksum of the bytes that `crc` is the checksum of, followed by `bytes`; 0 is the checksum
// of nothing.
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

inline uint32_t Crc32c(std::string_view text, uint32_t crc = 0) {
  return Crc32c(std::as_bytes(std::span(text.data(), text.size())), crc);
}

// The same without the processor's instruction for it; Crc32c chooses.
uint32_t Crc32cPlain(std::span<const std::byte> bytes, uint32_t crc = 0);

}  // namespace catamaran

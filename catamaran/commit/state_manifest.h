// commit/state_manifest.h
//
// The file CURRENT of a state directory of the first format: which generation of files is the
// state, and their sizes and checksums. It is read for ever and written no more; commits have
// manifests of their own (commit_manifest.h).
//
//   catamaran state 1
//   generation 7
//   file dense-7.safetensors 15360 1a2b3c4d
//   file tables-7.safetensors 912 99887766
//   check 0badf00d
//
// Checksums are CRC-32C in hexadecimal; the last line's is that of all lines before it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catamaran {

inline constexpr int kStateFormatVersion = 1;
inline constexpr std::string_view kStateManifestName = "CURRENT";

struct StateManifest {
  struct File {
    std::string name;
    uint64_t size = 0;
    uint32_t crc = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  uint64_t generation = 0;
  std::vector<File> files;
  friend bool operator==(const StateManifest&, const StateManifest&) = default;
};

std::string FormatStateManifest(const StateManifest& manifest);

// Anything but the exact form, or a checksum that does not fit, is an Error that begins with
// `path`.
StateManifest ParseStateManifest(std::string_view text, const std::string& path);

}  // namespace catamaran

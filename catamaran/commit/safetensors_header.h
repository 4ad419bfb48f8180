// commit/safetensors_header.h
//
// The header of a safetensors file, a JSON object:
//
//   {"__metadata__": {"key": "value"},
//    "fc1.w": {"dtype": "F32", "shape": [400, 416], "data_offsets": [0, 665600]}}
//
// and its two directions, text to structure and back. The reader knows just the JSON that the
// layout needs: objects of these forms, strings, lists of integers that are not negative.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/commit/safetensors.h"

namespace catamaran {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t begin = 0;  // in bytes after the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  SafetensorsMetadata metadata;
};

// Parses and checks: names are unique, end - begin is what dtype and shape take, and the entries
// cover the `data_bytes` bytes after the header without gaps or overlaps. Errors begin with `file`.
SafetensorsHeader ParseSafetensorsHeader(std::string_view json, uint64_t data_bytes,
                                         std::string_view file);

// The JSON, without padding. Errors, as of WriteSafetensors, begin with `file`.
std::string FormatSafetensorsHeader(const SafetensorsHeader& header, std::string_view file);

}  // namespace catamaran

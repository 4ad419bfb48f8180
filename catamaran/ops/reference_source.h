// ops/reference_source.h
//
// The references of all ops as text: what stands in each op's file between the lines
// `// reference-begin` and `// reference-end`. Generated programs carry the ones they use. The
// build fills the list (tools/extract_ops), in the order headers, then sources, each by name.

#pragma once

#include <cstddef>

namespace catamaran {

struct ReferenceSource {
  const char* op_file;  // "catamaran/ops/matmul.cc"
  const char* source;   // C++17 that needs <algorithm>, <cmath>, <cstddef> and <cstdint>
};

extern const ReferenceSource kReferenceSources[];
extern const size_t kReferenceSourceCount;

}  // namespace catamaran

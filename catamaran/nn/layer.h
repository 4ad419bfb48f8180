// nn/layer.h
//
// What the files of layers share.

#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "catamaran/ir/builder_set.h"

namespace catamaran {

// [D0, D1, …, last]: `rank` dimensions, named but for the last.
inline Type LeadingDims(DType dtype, int64_t rank, std::vector<Dim> last) {
  std::vector<Dim> dims;
  for (int64_t i = 0; i + static_cast<int64_t>(last.size()) < rank; ++i) {
    dims.push_back(Dim::Name(i == 0 ? "B" : fmt::format("D{}", i)));
  }
  dims.insert(dims.end(), last.begin(), last.end());
  return Type::Tensor(dtype, std::move(dims));
}

// The rank argument, checked.
inline int64_t RankArg(const BuildContext& c, int64_t least) {
  const int64_t rank = c.Int("rank");
  if (rank < least || rank > 8) {
    c.Fail(fmt::format("rank must be between {} and 8, found {}", least, rank));
  }
  return rank;
}

// A size argument that must be positive.
inline int64_t SizeArg(const BuildContext& c, const char* name) {
  const int64_t n = c.Int(name);
  if (n <= 0) c.Fail(fmt::format("{} must be above 0, found {}", name, n));
  return n;
}

// Ends `f` with one result.
inline void Return(BuildContext& c, Emitter& emit, Var result) {
  emit.EmitOp(emit.ops().Get("return"), {{result.value()}, {}, {}, {}, 0}, c.at());
  c.Finish(emit.function());
}

}  // namespace catamaran

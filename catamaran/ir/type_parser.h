// ir/type_parser.h
//
// Types and dimensions from text, for C++ callers: "f32[B, 16]", "rows<f32[16]>", "(H+1)/2". The
// spelling is that of the text form. Mistakes throw an Error that shows the text and the place in
// it.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "catamaran/ir/dim.h"
#include "catamaran/ir/type.h"

namespace catamaran {

// A `?` becomes a dimension of its own, `?0`, `?1`, …, counted in *next_fresh; it is a mistake
// when next_fresh is null.
Type ParseType(std::string_view text, uint32_t* next_fresh = nullptr);
Dim ParseDim(std::string_view text);
// "[B, 16]" or "B, 16".
std::vector<Dim> ParseDims(std::string_view text);

}  // namespace catamaran

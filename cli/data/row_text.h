// cli/data/row_text.h
//
// Rows as people and programs read them.

#pragma once

#include <cstdint>
#include <string>

#include "catamaran/data/row_block.h"
#include "cli/table/words.h"

namespace catamaran::cli {

// One value on one line: "0.25", "[1 2 … 784 numbers]", "17:0.5 18:1", text with escapes for
// what is not printable. "-" for a missing one. Long ones are cut, with "…" in place of the rest.
std::string ValueText(const Column& column, const ColumnBlock& block, int64_t row);

// The whole value: a number, an array (nested as the shape says), a string; an array of [id,
// weight] for weighted ids; null where an f32 is missing.
Json ValueJson(const Column& column, const ColumnBlock& block, int64_t row);

}  // namespace catamaran::cli

// cli/data/text_table.h
//
// Lines of cells, in columns as wide as their widest cell.

#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace catamaran::cli {

// Cells of numbers are better at the right of their column, texts at the left.
enum class Align : unsigned char { kLeft, kRight };

// Prints to stdout.
// REQUIRES: all lines have as many cells as `align`.
void PrintTable(const std::vector<Align>& align,
                const std::vector<std::vector<std::string>>& lines);

}  // namespace catamaran::cli

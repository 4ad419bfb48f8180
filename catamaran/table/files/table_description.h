// table/files/table_description.h
//
// What a table is told when it is made, as text: one fact a line, its name, a space, its value.
// Files of rows carry it, so that they can be read without the program that declared the table.
// docs/formats/table-rows.md lists the lines.

#pragma once

#include <string>
#include <string_view>

#include "catamaran/table/table_config.h"

namespace catamaran {

std::string DescribeTable(const TableConfig& config);

// The other way. Lines that it does not know are skipped, facts without a line are as in a new
// TableConfig. An Error that shows the line when it makes no sense.
TableConfig ParseTableDescription(std::string_view text);

// Empty if records of a table of the one kind are records of the other: width, store, optimizer
// (its rule and slots; the numbers may differ) and seed are equal. Else what differs, as
// "width 16 and 8"; `a` is named first.
std::string DifferenceOfRows(const TableConfig& a, const TableConfig& b);

}  // namespace catamaran

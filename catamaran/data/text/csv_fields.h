// data/text/csv_fields.h
//
// Which fields of a CSV file make which columns.

#pragma once

#include <string>
#include <vector>

#include "catamaran/data/schema.h"

namespace catamaran {

// For every column the fields that it takes, in order: one, or as many as a dense column is wide.
using ColumnFields = std::vector<std::vector<size_t>>;

// By the names of the fields, as csv_reader.h says. An Error that begins with `path` if a column
// finds no field; it offers similar names.
ColumnFields FieldsByName(const Schema& schema, const std::vector<std::string>& names,
                          const std::string& path);

// Whether that column would find its fields among these names.
bool HasFields(const Column& column, const std::vector<std::string>& names);

// From the left. An Error that begins with `path` unless the columns take exactly `count` fields.
ColumnFields FieldsByPlace(const Schema& schema, size_t count, const std::string& path);

}  // namespace catamaran

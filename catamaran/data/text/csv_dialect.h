// data/text/csv_dialect.h
//
// What the beginning of a CSV file tells: its separator, its fields and their names, and, where no
// schema is given, what the columns are.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/data/schema.h"
#include "catamaran/data/text/csv_splitter.h"
#include "catamaran/data/text/text_options.h"

namespace catamaran {

// An opened CSV file, of which the first rows were looked at.
struct CsvFile {
  std::unique_ptr<CsvSplitter> rows;  // at the first row with data
  std::vector<std::string> names;     // of the fields
  bool has_names = false;             // from a header or the user; else they are c1, c2, …
  bool trim = false;
  bool empty = false;  // no row at all, not even a header; then there are no names
};

// An Error if the names do not fit to the fields.
CsvFile OpenCsvFile(const FileSystem& fs, const std::string& path, const TextOptions& options);

// Finds the columns' kinds from the first rows, one column a field: i64 if all are whole numbers
// (without leading zeros) and none is missing, f32 if all are numbers or missing, else string.
// Leaves `file` at the first row with data. Rows that cannot be split are passed over.
Schema InferCsvSchema(CsvFile& file, const TextOptions& options);

// Whether `text` stands for a missing number.
bool IsMissing(std::string_view text, const TextOptions& options);

// Without spaces and tabs at both ends.
std::string_view Trimmed(std::string_view text);

}  // namespace catamaran

// data/text/csv_reader.h
//
// CSV and TSV files. Columns take fields by the names of the header (or those that the user gives):
// a column of one value the field of its name; a dense column x of several values the fields x0,
// x1, … or x1, x2, …, also as x_1 or x.1. In a file without names they take fields from the left, a
// dense column as many as it has values. Fields that no column takes are not looked at.
//
//   i64, u8, f32    one number a field
//   ids             ids one after another, TextOptions::list_separator between them
//   weighted_ids    the same, each "id:weight", or "id" for a weight of 1
//   string          the field as it is
//
// A missing value is a NaN, an empty list or an empty string; for i64 and u8 it is a bad row,
// unless TextOptions::missing_integer says what it becomes.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/reader.h"

namespace catamaran {

std::unique_ptr<RowReader> OpenCsv(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options);

// The same with tabs.
std::unique_ptr<RowReader> OpenTsv(const FileSystem& fs, const std::string& path,
                                   const ReaderOptions& options);

// Criteo's click logs: tabs, no header, no quotes; fields label, I1 … I13, C1 … C26, or the same
// without the label. The columns are label: f32, dense: f32[13] and C1 … C26: ids, which are the
// fields' 32-bit hexadecimal numbers; a schema of the user's takes fields by those names.
std::unique_ptr<RowReader> OpenCriteo(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options);

DataFormat CsvFormat();
DataFormat TsvFormat();
DataFormat CriteoFormat();

}  // namespace catamaran

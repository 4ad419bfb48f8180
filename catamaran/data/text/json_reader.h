// data/text/json_reader.h
//
// JSON lines: an object on each line. What columns take from it stands in json_row.h; without a
// schema the columns are found from the first rows, as json_infer.h says. Empty lines are no rows.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/reader.h"

namespace catamaran {

std::unique_ptr<RowReader> OpenJsonLines(const FileSystem& fs, const std::string& path,
                                         const ReaderOptions& options);
DataFormat JsonLinesFormat();

}  // namespace catamaran

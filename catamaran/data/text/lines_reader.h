// data/text/lines_reader.h
//
// Plain text: every line is a row, an empty one too, of one column, text: string, without the end
// of the line. Bytes are given as they are.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/data_format.h"
#include "catamaran/data/reader.h"

namespace catamaran {

// The name "text": for files that end with .txt, or that the user names so.
std::unique_ptr<RowReader> OpenLinesOfText(const FileSystem& fs, const std::string& path,
                                           const ReaderOptions& options);
DataFormat TextFormat();

}  // namespace catamaran

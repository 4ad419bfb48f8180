// data/files/array_reader.h
//
// A RowReader of arrays that lie side by side, a column each, with random access.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/data/files/stored_array.h"
#include "catamaran/data/reader.h"

namespace catamaran {

// `kind` names the format in positions and must be a literal; errors begin with `path`. The columns
// are the arrays, as options.columns chooses them; options.schema may give them other names. An
// Error unless all have as many rows.
std::unique_ptr<RowReader> MakeArrayReader(std::string_view kind, std::string path,
                                           std::vector<StoredArray> arrays,
                                           const ReaderOptions& options);

}  // namespace catamaran

// commit/first_format_rows.h
//
// Rows of a table as the first format kept them, in tensors, made into what a table of today loads.

#pragma once

#include <memory>
#include <string>

#include "catamaran/commit/safetensors.h"
#include "catamaran/table/durable_table.h"

namespace catamaran {

// The rows of the table that was saved as `path`, for `table`. An Error that names the tensor if
// one is missing or has another type.
std::shared_ptr<const RowBacking> ReadFirstFormatRows(const SafetensorsFile& rows,
                                                      const std::string& path,
                                                      const DurableTable& table);

}  // namespace catamaran

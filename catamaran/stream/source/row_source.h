// stream/source/row_source.h
//
// Files of rows as a Source: each row is made a record by a function of the user's. Its position is
// exact to the row, also within a block.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "catamaran/data/reader.h"
#include "catamaran/stream/source.h"

namespace catamaran {

// Sets `type` and `time_ns` of the record, and `payload` to its bytes. May throw an Error.
using RowToRecord = std::function<void(const RowBlock& block, int64_t row, StreamRecord& record,
                                       std::string& payload)>;

std::unique_ptr<Source> MakeRowSource(std::unique_ptr<RowReader> reader, RowToRecord to_record,
                                      std::string name);

}  // namespace catamaran

// data/records/record_reader.h
//
// The rows of a record file in order, from any row on.

#pragma once

#include <memory>
#include <string>

#include "catamaran/data/data_format.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/records/record_file.h"

namespace catamaran {

// Reads options.columns, or all. Fastest where Read is asked for at least as many rows as a block
// has: then nothing is copied.
std::unique_ptr<RowReader> MakeRecordReader(std::shared_ptr<const RecordFile> file,
                                            const ReaderOptions& options = {});

// "records": files that begin with the magic of record files.
DataFormat RecordsFormat();

}  // namespace catamaran

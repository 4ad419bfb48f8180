// cli/train/row_writer.h
//
// Rows to a file, in the format that its name asks for:
//
//   .jsonl        one JSON object a row
//   .csv, .tsv    a header, then one line a row; columns of several numbers become x_0, x_1, …;
//   lists
//                 are separated by spaces
//   .rec          records
//   .npy          one array of all rows: for a single dense column
//
// The file is there whole after Finish, or not at all.
//
// Thread safety: one thread at a time.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/row_block.h"

namespace catamaran::cli {

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // Blocks of one schema.
  virtual void Add(const RowBlock& rows) = 0;
  virtual void Finish() = 0;
};

// An error of usage if the name ends in none of these.
std::unique_ptr<RowWriter> MakeRowWriter(FileSystem& fs, const std::string& path);

}  // namespace catamaran::cli

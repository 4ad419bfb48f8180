// cli/table/row_output.h
//
// Rows as files for other tools, written while they go by.
//
//   CSV   a line of names, then a line a row: the key, the numbers e0, e1, …; with metadata also
//         feature, shows, clicks, last_seen (seconds since 1970), updates and score. A row that is
//         one column wide has nothing in the others.
//   .npy  the numbers, f32[N, W], as a program sees them, and the keys, u64[N], in a file beside.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/output_file.h"
#include "cli/table/table_rows.h"

namespace catamaran::cli {

class RowOutput {
 public:
  virtual ~RowOutput() = default;
  // `id` is what stands for the key. REQUIRES: a row that is not waiting.
  virtual void Add(uint64_t id, RowClass c, const uint32_t* record) = 0;
  virtual void Finish() = 0;
};

std::unique_ptr<RowOutput> MakeCsvOutput(FileSystem& fs, const std::string& path,
                                         const TableRows& table, bool metadata);

// Exactly `rows` are added.
std::unique_ptr<RowOutput> MakeNpyOutput(FileSystem& fs, const std::string& path,
                                         const TableRows& table, int64_t rows);
// "a/feat.keys.npy" for "a/feat.npy".
std::string KeysPathOf(const std::string& npy_path);

}  // namespace catamaran::cli

// cli/table/row_input.h
//
// Rows from files of other tools, read while they go by: what row_output.h writes, and what others
// write like it.
//
//   CSV   with a line of names: key, e0 … e(W-1), and any of feature, shows, clicks, last_seen,
//         updates, score (which is not read: it follows from the others); in any order. Without
//         one: the key, then W numbers. Nothing after the first number: a row of one column.
//   .npy  f32[N, W], and the keys, u64[N] or i64[N], in a file beside.
//
// A mistake is an Error that names the file and the line, or the row.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "catamaran/base/file.h"
#include "catamaran/base/function_ref.h"
#include "cli/progress.h"

namespace catamaran::cli {

struct InputRow {
  std::string_view where;  // "feat.csv:17"
  uint64_t key = 0;
  std::span<const float> values;  // as many as the table is wide, or 1
  // What the file says of it.
  std::optional<std::string_view> feature;  // empty: none
  std::optional<float> shows, clicks;
  std::optional<uint32_t> last_seen;  // seconds
  std::optional<uint32_t> updates;
};

using RowVisit = FunctionRef<void(const InputRow& row)>;

void ReadCsvRows(const FileSystem& fs, const std::string& path, int64_t width, Progress& progress,
                 RowVisit visit);
void ReadNpyRows(const FileSystem& fs, const std::string& path, const std::string& keys_path,
                 int64_t width, Progress& progress, RowVisit visit);

}  // namespace catamaran::cli

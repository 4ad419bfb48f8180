// data/features/side_file.h
//
// A file beside the data, such as one of users or of items: columns that are found by the values of
// its key columns. It is held in memory.
//
// Thread safety: immutable once made.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/data/features/feature_function.h"
#include "catamaran/data/row_block.h"

namespace catamaran {

class SideFile {
 public:
  // Takes the rows; `keys` are the names of columns. Keys are compared by their canonical texts. An
  // Error, beginning with `what`, if there is no such column, it is a list, or two rows have equal
  // keys.
  SideFile(std::string what, RowBlock rows, const std::vector<std::string>& keys);

  const RowBlock& rows() const { return rows_; }
  const Schema& schema() const { return rows_.schema(); }
  const std::vector<std::string>& keys() const { return keys_; }
  // Of all that is in it.
  uint64_t hash() const { return hash_; }

  // What stands behind each part of a key.
  static constexpr char kKeyEnd = '\x1f';

  // A kernel from the values of the keys to the row's number, or -1.
  FeatureKernel RowKernel(const std::vector<ValueType>& types) const;
  // A kernel from the row's number to that column: a number or text; missing without a row.
  FeatureKernel ColumnKernel(int column) const;

 private:
  const std::string what_;
  RowBlock rows_;
  std::vector<std::string> keys_;
  std::unordered_map<std::string, int64_t> by_key_;
  uint64_t hash_ = 0;
};

// Reads what a `file` line names: the key columns and those from the first to the last of each pair
// of `columns`. The path is looked for in each of `folders` in turn.
SideFile ReadSideFile(const FileSystem& fs, const FeatureSource& source,
                      const FeatureSideFile& declared,
                      const std::vector<std::pair<std::string, std::string>>& columns,
                      const std::vector<std::string>& folders);

}  // namespace catamaran

// cli/train/prediction_rows.h
//
// Rows of predictions: the columns of what was read that are kept, then the results of a function,
// a column each: floats as f32, integers as i64, bool and u8 as u8; of ragged ones integers alone,
// as ids.
//
// Thread safety: one thread at a time.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catamaran/data/row_block.h"
#include "catamaran/exec/executable.h"

namespace catamaran::cli {

class PredictionRows {
 public:
  // `kept` are columns of `from`; `names` those of the function's results. An Error if there is no
  // such column.
  PredictionRows(const Schema& from, const std::vector<std::string>& kept,
                 std::vector<std::string> names);

  // Makes the rows of `in` with the function's results. An Error if a result is not one value a
  // row, or two columns have one name. Good until the next call.
  const RowBlock& Make(const RowBlock& in, const RunResult& results);

 private:
  Schema SchemaOf(const RowBlock& in, const RunResult& results) const;

  std::vector<int> kept_;
  const std::vector<std::string> names_;
  std::optional<Schema> schema_;  // known from the first batch on
  RowBlock rows_;
};

}  // namespace catamaran::cli

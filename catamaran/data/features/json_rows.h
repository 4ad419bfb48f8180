// data/features/json_rows.h
//
// Rows that come as JSON, as a service gets them: one object, or an array of them. Rows of the same
// values in a CSV or record file give the same features.
//
//   JsonRows rows(features, {"dense", "cat"});    // what the model's `infer` takes
//   RowBlock features;
//   rows.Transform(R"([{"age": 39, "workclass": "Private"}])", features);
//
// Thread safety: one thread at a time; copies of `Features` are cheap, so each has its own.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/row_block.h"
#include "catamaran/data/row_transform.h"
#include "catamaran/data/text/json.h"
#include "catamaran/data/text/json_row.h"

namespace catamaran {

class JsonRows {
 public:
  // Rows with the columns that the named outputs (empty: all) need. An Error if the features do not
  // say what their columns are: neither by `input` lines nor by having been fitted.
  explicit JsonRows(const Features& features, const std::vector<std::string>& outputs = {});

  // Of the raw rows, and of what becomes of them.
  const Schema& columns() const { return columns_; }
  const RowTransform& transform() const { return *transform_; }

  // `rows` becomes the raw rows. An Error that names the row, from 0, and the column; so are
  // columns that are missing and have no default, and columns that the features do not know.
  void Parse(std::string_view json, RowBlock& rows);

  // The same, transformed.
  void Transform(std::string_view json, RowBlock& out);

 private:
  std::shared_ptr<const RowTransform> transform_;
  Schema columns_;
  JsonRow row_;
  JsonDocument document_;
  RowBlock raw_;
};

}  // namespace catamaran

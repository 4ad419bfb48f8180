// serve/model/row_inputs.h
//
// JSON rows as arguments of a function: through the model's feature transforms or, where it has
// none, by the names of the arguments. What a row gives here is what the same row of a file gives
// in training.
//
// Thread safety: one thread at a time.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/row_block.h"
#include "catamaran/data/row_transform.h"
#include "catamaran/data/text/json_row.h"
#include "catamaran/serve/model/feature_monitor.h"
#include "catamaran/serve/model/signature.h"
#include "catamaran/train/feed.h"

namespace catamaran {

class RowInputs {
 public:
  // Throws an Error if rows cannot be understood: the features do not say what their columns are,
  // or there are none and an argument has no form in JSON. `flat` outlives it.
  RowInputs(const Program& flat, const Function& function, const std::optional<Features>& features,
            const FeedOptions& feed, const JsonRowRules& rules = {});

  // Of the rows: "age: f32".
  const Schema& columns() const { return columns_; }

  // Throws an Error that names the row, from 0, and the column.
  BoundInputs Bind(const std::vector<std::string>& rows);

  // Rows of the last Bind that only lenient rules take.
  int64_t lenient_rows() const { return lenient_rows_; }

  // What is counted: the columns, then what is made of several and has a range.
  const std::vector<std::string>& features() const { return features_; }
  // Of the rows of the last Bind, in that order.
  std::span<const FeatureCount> counts() const { return counts_; }

 private:
  void NameFeatures();
  void CountMissing();

  std::shared_ptr<const RowTransform> transform_;  // null: none
  Schema columns_;
  std::unique_ptr<FeedBinding> binding_;
  std::unique_ptr<Feeder> feeder_;
  std::unique_ptr<JsonRow> row_;
  RowBlock raw_, transformed_;
  std::optional<int64_t> missing_integer_;
  int64_t lenient_rows_ = 0;
  std::vector<std::string> features_;
  std::vector<FeatureCount> counts_;
  std::vector<size_t> ranged_;    // features that transform_->ranged() are
  std::vector<int64_t> outside_;  // the same
};

}  // namespace catamaran

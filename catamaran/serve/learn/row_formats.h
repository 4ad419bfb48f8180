// serve/learn/row_formats.h
//
// Rows of requests as rows of the log. A model has up to two formats: raw columns, which go through
// its feature transforms when they are learned from (JSON rows of a model with features), and the
// arguments of `infer` themselves (tensors, and JSON rows of a model without features). Each is a
// schema that the log states once.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/row_transform.h"
#include "catamaran/data/text/json_row.h"
#include "catamaran/ir/program.h"
#include "catamaran/serve/infer.h"
#include "catamaran/stream/record.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"
#include "catamaran/train/label_rules.h"

namespace catamaran {

// Equal for programs that compute the same in the same words.
uint64_t ProgramHash(const Program& flat);

class RowFormats {
 public:
  // An Error if the program's labels are not one number a row. `flat` outlives it.
  RowFormats(const Program& flat, const EntryPoints& entry, const std::optional<Features>& features,
             const FeedOptions& feed, bool lenient = false);

  // The schemas of this model's rows: id, columns, program and transform.
  const std::vector<SchemaRecord>& schemas() const { return schemas_; }

  // The rows of a request for predictions. An Error that says which input is wrong.
  LoggedRows Take(const std::vector<NamedTensor>& inputs, const std::vector<std::string>& rows);

  struct Labelled {
    LoggedRows rows;
    std::vector<float> labels;   // row by row, in the order of the program's labels
    std::vector<float> weights;  // empty: 1
    int64_t lenient_rows = 0;    // that only lenient rules take
  };
  // The same with labels, and weights if the program has them.
  Labelled TakeLabelled(const std::vector<NamedTensor>& inputs,
                        const std::vector<std::string>& rows);

  bool has_weight() const { return has_weight_; }

  // Which labels can be learned from.
  const LabelRules& label_rules() const { return label_rules_; }

 private:
  // Reads JSON rows.
  struct Parser {
    Parser(const RowFormats& formats);
    JsonRow features;
    JsonRow labels;
    RowBlock block, label_block, transformed;
    int64_t lenient_rows = 0;  // of the last request
  };
  class Borrowed;

  JsonRowRules LabelRowRules() const;
  LoggedRows FromTensors(const std::vector<NamedTensor>& inputs, int64_t& rows) const;
  LoggedRows FromJson(const std::vector<std::string>& rows, Parser& parser) const;
  void LabelsFromTensors(const std::vector<NamedTensor>& inputs, Labelled& labelled) const;
  void LabelsFromJson(const std::vector<std::string>& rows, Parser& parser,
                      Labelled& labelled) const;
  void CheckNames(const std::vector<NamedTensor>& inputs, bool labelled) const;
  void CheckNumbers(const Labelled& labelled) const;

  const std::vector<std::string> labels_;
  const LabelRules label_rules_;
  const JsonRowRules rules_;
  bool has_weight_ = false;
  std::vector<SchemaRecord> schemas_;

  std::optional<Schema> arguments_;  // of infer as columns
  uint64_t arguments_id_ = 0;
  std::string arguments_problem_;  // why there are none

  Schema json_columns_;
  uint64_t json_id_ = 0;
  std::string json_problem_;  // why JSON rows cannot be understood
  std::optional<int64_t> missing_integer_;
  // Labels (and weight) that the features make of raw columns, or null: they are named as such.
  std::shared_ptr<const RowTransform> label_transform_;
  Schema label_columns_;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Parser>> parsers_;
};

// What one row of an argument is, as a column; an Error if it has no such form.
Column ColumnOfArgument(const Value& argument);

}  // namespace catamaran

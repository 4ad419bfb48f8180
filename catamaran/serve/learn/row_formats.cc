// serve/learn/row_formats.cc

#include "catamaran/serve/learn/row_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/printer.h"
#include "catamaran/serve/learn/tensor_columns.h"
#include "catamaran/serve/model/row_rules.h"
#include "catamaran/train/train_data.h"

namespace catamaran {
namespace {

constexpr int64_t kMostKeptRows = 4096;
constexpr int64_t kRowsABreath = 16;

const Function& FunctionNamed(const Program& flat, const std::string& name) {
  const Function* function = flat.items.FindFunction(name);
  CATAMARAN_CHECK(function != nullptr, "no function {}", name);
  return *function;
}

void CheckLabel(const Function& train, const std::string& label) {
  for (int i = 0; i < train.num_params(); ++i) {
    const Value& argument = *train.param(i);
    if (argument.name != label) continue;
    const Type& type = argument.type;
    bool one = type.is_tensor() && type.rank() >= 1 && !type.is_ragged();
    for (int axis = 1; one && axis < type.rank(); ++axis) {
      one = type.dim(axis).is_constant() && type.dim(axis).constant() == 1;
    }
    if (one) return;
    Fail("{} : {} is a label; while serving, labels are learned that are one number a row",
         argument.name, type.ToString());
  }
}

}  // namespace

uint64_t ProgramHash(const Program& flat) {
  return HashString(Print(flat));  // without the names of files and lines
}

// Lends a parser to one call.
class RowFormats::Borrowed {
 public:
  explicit Borrowed(RowFormats& formats) : formats_(formats) {
    const std::lock_guard lock(formats.mutex_);
    if (!formats.parsers_.empty()) {
      parser_ = std::move(formats.parsers_.back());
      formats.parsers_.pop_back();
    }
    if (!parser_) parser_ = std::make_unique<Parser>(formats);
  }
  ~Borrowed() {
    if (parser_->block.rows() > kMostKeptRows) return;  // with the memory that so many take
    const std::lock_guard lock(formats_.mutex_);
    formats_.parsers_.push_back(std::move(parser_));
  }
  Parser& operator*() const { return *parser_; }

 private:
  RowFormats& formats_;
  std::unique_ptr<Parser> parser_;
};

RowFormats::Parser::Parser(const RowFormats& formats)
    : features(formats.json_columns_, formats.missing_integer_, formats.rules_),
      labels(formats.label_columns_, formats.missing_integer_, formats.LabelRowRules()) {}

// Labels must be there also where rules are lenient. Other members were looked at before.
JsonRowRules RowFormats::LabelRowRules() const {
  JsonRowRules rules{.need_columns = true, .defaults = rules_.defaults};
  if (!label_transform_) rules.defaults = {{.column = std::string(kWeightArgument)}};
  return rules;
}

RowFormats::RowFormats(const Program& flat, const EntryPoints& entry,
                       const std::optional<Features>& features, const FeedOptions& feed,
                       bool lenient)
    : labels_(entry.labels),
      label_rules_(flat, entry),
      rules_(RowRulesOf(flat, entry, features, feed, lenient)) {
  const Function& train = FunctionNamed(flat, entry.train);
  if (entry.infer.empty()) Fail("{}: it has no function infer, and cannot serve", flat.name);
  const Function& infer = FunctionNamed(flat, entry.infer);
  for (const std::string& label : labels_) CheckLabel(train, label);
  for (int i = 0; i < train.num_params(); ++i) {
    has_weight_ |= train.param(i)->name == kWeightArgument;
  }
  const uint64_t program = ProgramHash(flat);
  const auto add = [&](const Schema& columns, uint64_t transform) {
    SchemaRecord schema;
    schema.columns = columns;
    schema.program = program;
    schema.transform = transform;
    schema.id = SchemaId(columns, program, transform);
    schemas_.push_back(schema);
    return schema.id;
  };
  try {
    std::vector<Column> columns;
    for (int i = 0; i < infer.num_params(); ++i)
      columns.push_back(ColumnOfArgument(*infer.param(i)));
    arguments_ = Schema(std::move(columns));
    arguments_id_ = add(*arguments_, 0);
  } catch (const Error& error) {
    if (!features) throw;
    arguments_problem_ = error.what();
  }

  std::vector<Column> label_columns;
  for (const std::string& label : labels_) label_columns.push_back(Column::Dense(label));
  if (has_weight_) label_columns.push_back(Column::Dense(std::string(kWeightArgument)));
  label_columns_ = Schema(std::move(label_columns));
  if (!features) {
    json_columns_ = *arguments_;
    json_id_ = arguments_id_;
    return;
  }
  missing_integer_ = features->ReaderSettings({}).text.missing_integer;
  const auto inputs = features->declared_inputs();
  const std::string& path = features->syntax().source->path;
  if (!inputs) {
    json_problem_ = fmt::format("{} does not say what its columns are", path);
    return;
  }
  const auto transform = BindFeatures(*features, *inputs, flat, {entry.infer}, feed, {});
  json_columns_ = inputs->Select(transform->inputs(), path);
  json_id_ = add(json_columns_, transform->hash());
  // Where the features make the labels too, a row has what they are made of.
  std::vector<std::string> made;
  const std::vector<std::string> outputs = features->outputs();
  for (const std::string& label : labels_) {
    if (std::find(outputs.begin(), outputs.end(), label) != outputs.end()) made.push_back(label);
  }
  if (!made.empty() && made.size() == labels_.size()) {
    label_transform_ = features->Bind(*inputs, made);
    label_columns_ = inputs->Select(label_transform_->inputs(), path);
  }
}

LoggedRows RowFormats::Take(const std::vector<NamedTensor>& inputs,
                            const std::vector<std::string>& rows) {
  if (rows.empty()) {
    CheckNames(inputs, /*labelled=*/false);
    int64_t count = 0;
    return FromTensors(inputs, count);
  }
  const Borrowed parser(*this);
  return FromJson(rows, *parser);
}

RowFormats::Labelled RowFormats::TakeLabelled(const std::vector<NamedTensor>& inputs,
                                              const std::vector<std::string>& rows) {
  Labelled labelled;
  if (rows.empty()) {
    if (inputs.empty()) Fail("there are neither inputs nor rows");
    CheckNames(inputs, /*labelled=*/true);
    LabelsFromTensors(inputs, labelled);
  } else {
    const Borrowed parser(*this);
    labelled.rows = FromJson(rows, *parser);
    labelled.lenient_rows = (*parser).lenient_rows;
    LabelsFromJson(rows, *parser, labelled);
  }
  CheckNumbers(labelled);
  return labelled;
}

void RowFormats::CheckNames(const std::vector<NamedTensor>& inputs, bool labelled) const {
  if (!arguments_) Fail("tensors are not learned from: {}; send rows", arguments_problem_);
  std::vector<std::string> known;
  for (const Column& column : *arguments_) {
    known.push_back(column.name);
    if (column.has_offsets()) known.push_back(column.name + ".offsets");
  }
  if (labelled) {
    known.insert(known.end(), labels_.begin(), labels_.end());
    if (has_weight_) known.emplace_back(kWeightArgument);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::vector<std::string_view> names(known.begin(), known.end());
      const std::string near = Suggest(name, names);
      Fail("there is no input '{}'; {}", name,
           near.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                        : fmt::format("did you mean '{}'?", near));
    }
    for (size_t j = 0; j < i; ++j) {
      if (inputs[j].name == name) Fail("input {} is there twice", name);
    }
  }
}

LoggedRows RowFormats::FromTensors(const std::vector<NamedTensor>& inputs, int64_t& rows) const {
  if (!arguments_) Fail("tensors are not learned from: {}; send rows", arguments_problem_);
  return EncodeTensors(arguments_id_, *arguments_, inputs, rows);
}

void RowFormats::LabelsFromTensors(const std::vector<NamedTensor>& inputs,
                                   Labelled& labelled) const {
  std::vector<std::vector<float>> columns;
  int64_t rows = 1;
  for (const std::string& label : labels_) {
    columns.push_back(NumbersOf(inputs, label));
    rows = std::max(rows, static_cast<int64_t>(columns.back().size()));
  }
  labelled.rows = FromTensors(inputs, rows);
  const auto spread = [&](std::vector<float>& column, std::string_view name) {
    if (column.size() == 1) column.resize(static_cast<size_t>(rows), column[0]);
    if (column.size() != static_cast<size_t>(rows)) {
      Fail("input {} has {} rows; there are {}", name, column.size(), rows);
    }
  };
  for (size_t l = 0; l < columns.size(); ++l) spread(columns[l], labels_[l]);
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    for (const auto& column : columns) labelled.labels.push_back(column[r]);
  }
  const auto is_weight = [](const NamedTensor& input) { return input.name == kWeightArgument; };
  if (has_weight_ && std::any_of(inputs.begin(), inputs.end(), is_weight)) {
    labelled.weights = NumbersOf(inputs, kWeightArgument);
    spread(labelled.weights, kWeightArgument);
  }
}

LoggedRows RowFormats::FromJson(const std::vector<std::string>& rows, Parser& parser) const {
  if (!json_problem_.empty()) Fail("rows are not understood: {}", json_problem_);
  parser.block.Begin(json_columns_);
  parser.lenient_rows = 0;
  for (const std::string& row : rows) {
    const std::string problem = parser.features.Append(row, parser.block);
    if (!problem.empty()) Fail(ErrorCode::kBadData, "row {}: {}", parser.block.rows(), problem);
    parser.lenient_rows += parser.features.incomplete() || parser.features.unknown() ? 1 : 0;
    parser.block.FinishRow();
    if (parser.block.rows() % kRowsABreath == 0) Breathe();
  }
  return EncodeRows(json_id_, parser.block, parser.block.rows());
}

void RowFormats::LabelsFromJson(const std::vector<std::string>& rows, Parser& parser,
                                Labelled& labelled) const {
  parser.label_block.Begin(label_columns_);
  for (const std::string& row : rows) {
    const std::string problem = parser.labels.Append(row, parser.label_block);
    if (!problem.empty())
      Fail(ErrorCode::kBadData, "row {}: {}", parser.label_block.rows(), problem);
    parser.label_block.FinishRow();
    if (parser.label_block.rows() % kRowsABreath == 0) Breathe();
  }
  const RowBlock* block = &parser.label_block;
  if (label_transform_) {
    label_transform_->Apply(parser.label_block, parser.transformed);
    block = &parser.transformed;
  }
  for (int64_t r = 0; r < block->rows(); ++r) {
    for (const std::string& label : labels_) {
      const int c = block->schema().Find(label);
      labelled.labels.push_back(NumberOf(*block, c, r));
    }
  }
  const int weight = block->schema().Find(kWeightArgument);
  if (weight < 0) return;
  for (int64_t r = 0; r < block->rows(); ++r) {
    const float value = NumberOf(*block, weight, r);
    labelled.weights.push_back(std::isnan(value) ? 1 : value);
  }
}

void RowFormats::CheckNumbers(const Labelled& labelled) const {
  for (size_t i = 0; i < labelled.labels.size(); ++i) {
    const std::string& label = labels_[i % labels_.size()];
    const std::string problem = label_rules_.Problem(label, labelled.labels[i]);
    if (!problem.empty())
      Fail(ErrorCode::kBadData, "row {}: label '{}': {}", i / labels_.size(), label, problem);
  }
  for (size_t r = 0; r < labelled.weights.size(); ++r) {
    const std::string problem = label_rules_.Problem(kWeightArgument, labelled.weights[r]);
    if (!problem.empty()) Fail(ErrorCode::kBadData, "row {}: {}: {}", r, kWeightArgument, problem);
  }
}

}  // namespace catamaran

#include "catamaran/data/features/feature_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/error.h"

namespace catamaran {

// What one Apply works in.
struct FeatureGraph::Scratch {
  std::vector<FeatureValues> values;  // of each node
  std::vector<const FeatureValues*> args;
  std::vector<int> columns;  // of the block, for nodes that are columns
  std::vector<uint8_t> marks;
};

namespace {

// The column that a value of this type is stored in.
Column ColumnOf(const std::string& name, const FeatureNode& node) {
  if (!node.column.empty()) {
    Column column = node.input;
    column.name = name;
    return column;
  }
  switch (node.type.kind) {
    case ValueKind::kNumber:
      return Column::Dense(name, DType::kF32, node.type.shape);
    case ValueKind::kInteger:
      return Column::Dense(name, DType::kI64, node.type.shape);
    case ValueKind::kWeightedIds:
      return Column::WeightedIds(name);
    case ValueKind::kText:
    case ValueKind::kTexts:
      return Column::String(name);
    case ValueKind::kIds:
      break;
  }
  return Column::Ids(name);
}

// A column of the data as values.
void FromBlock(const ColumnBlock& from, int64_t rows, const ValueType& type, FeatureValues& to) {
  const auto widen = [&](const auto& values) {
    double* numbers = to.numbers.Extend(values.size());
    for (size_t i = 0; i < values.size(); ++i) numbers[i] = values[i];
  };
  switch (type.kind) {
    case ValueKind::kNumber:
      from.bytes.empty() ? widen(from.floats) : widen(from.bytes);
      break;
    case ValueKind::kText: {
      std::string_view* texts = to.texts.Extend(static_cast<size_t>(rows));
      for (int64_t r = 0; r < rows; ++r) texts[r] = from.text(r);
      break;
    }
    default:
      to.ints.Append(from.ints.span());
      if (!type.is_list()) break;
      to.offsets.clear();
      to.offsets.Append(from.offsets.span());
      if (type.kind == ValueKind::kWeightedIds) to.weights.Append(from.floats.span());
      break;
  }
}

// Values as a column of the result.
void ToBlock(const FeatureValues& from, const ValueType& type, ColumnBlock& to) {
  switch (type.kind) {
    case ValueKind::kNumber: {
      float* floats = to.floats.Extend(from.numbers.size());
      for (size_t i = 0; i < from.numbers.size(); ++i)
        floats[i] = static_cast<float>(from.numbers[i]);
      break;
    }
    case ValueKind::kText:
      for (const std::string_view text : from.texts) {
        to.bytes.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        to.EndList();
      }
      break;
    default:
      to.ints.Append(from.ints.span());
      if (!type.is_list()) break;
      to.offsets.clear();
      to.offsets.Append(from.offsets.span());
      if (type.kind == ValueKind::kWeightedIds) to.floats.Append(from.weights.span());
      break;
  }
}

void CopyColumn(const ColumnBlock& from, ColumnBlock& to) {
  to.floats.Append(from.floats.span());
  to.ints.Append(from.ints.span());
  to.bytes.Append(from.bytes.span());
  to.offsets.clear();
  to.offsets.Append(from.offsets.span());
}

}  // namespace

FeatureGraph::FeatureGraph(std::vector<FeatureNode> nodes,
                           const std::vector<FeatureOutput>& outputs, uint64_t hash,
                           std::string path, std::shared_ptr<const void> keep)
    : keep_(std::move(keep)), nodes_(std::move(nodes)), hash_(hash), path_(std::move(path)) {
  std::vector<Column> columns;
  for (const FeatureOutput& output : outputs) {
    const FeatureNode& node = nodes_[static_cast<size_t>(output.node)];
    if (!node.ready) continue;
    outputs_.push_back(output);
    columns.push_back(ColumnOf(output.name, node));
  }
  schema_ = Schema(std::move(columns));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const FeatureNode& node = nodes_[i];
    if (!node.ready || !node.kernel.mark_outside || node.args.empty()) continue;
    const std::string& field = nodes_[static_cast<size_t>(node.args[0])].field;
    const std::string& name = field.empty() ? node.text : field;
    const auto known =
        std::ranges::find_if(ranged_, [&](const auto& feature) { return feature.first == name; });
    if (known == ranged_.end()) {
      ranged_.push_back({name, {i}});
    } else {
      known->second.push_back(i);
    }
  }
}

std::vector<std::string> FeatureGraph::ranged() const {
  std::vector<std::string> names;
  for (const auto& [name, nodes] : ranged_) names.push_back(name);
  return names;
}

void FeatureGraph::CountOutside(int64_t rows, Scratch& scratch, std::span<int64_t> outside) const {
  for (size_t f = 0; f < ranged_.size(); ++f) {
    scratch.marks.assign(static_cast<size_t>(rows), 0);
    for (const size_t n : ranged_[f].second) {
      const FeatureNode& node = nodes_[n];
      scratch.args.clear();
      for (const int arg : node.args) {
        scratch.args.push_back(&scratch.values[static_cast<size_t>(arg)]);
      }
      node.kernel.mark_outside({rows, scratch.args, node.place}, scratch.values[n], scratch.marks);
    }
    outside[f] += std::ranges::count(scratch.marks, 1);
  }
}

FeatureGraph::~FeatureGraph() = default;

std::vector<std::string> FeatureGraph::inputs() const {
  std::vector<std::string> names;
  for (const FeatureNode& node : nodes_) {
    if (!node.column.empty()) names.push_back(node.column);
  }
  return names;
}

std::unique_ptr<FeatureGraph::Scratch> FeatureGraph::TakeScratch() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto scratch = std::move(free_.back());
      free_.pop_back();
      return scratch;
    }
  }
  auto scratch = std::make_unique<Scratch>();
  scratch->values.resize(nodes_.size());
  scratch->columns.resize(nodes_.size());
  return scratch;
}

void FeatureGraph::GiveScratch(std::unique_ptr<Scratch> scratch) const {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(scratch));
}

void FeatureGraph::Compute(const RowBlock& in, Scratch& scratch) const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const FeatureNode& node = nodes_[i];
    if (!node.column.empty()) {
      const int column = in.schema().Index(node.column, path_);
      if (!(in.schema()[column] == node.input)) {
        Fail("{}: column '{}' is {}, wanted {}", path_, node.column, in.schema()[column].KindText(),
             node.input.KindText());
      }
      scratch.columns[i] = column;
    }
    if (!node.ready) continue;
    FeatureValues& out = scratch.values[i];
    out.Clear(node.type);
    if (!node.column.empty()) {
      if (node.used) FromBlock(in[scratch.columns[i]], in.rows(), node.type, out);
      continue;
    }
    scratch.args.clear();
    for (const int arg : node.args)
      scratch.args.push_back(&scratch.values[static_cast<size_t>(arg)]);
    node.kernel.run({in.rows(), scratch.args, node.place}, out);
  }
}

void FeatureGraph::ApplyAndCount(const RowBlock& in, RowBlock& out,
                                 std::span<int64_t> outside) const {
  auto scratch = TakeScratch();
  Compute(in, *scratch);
  if (!outside.empty()) CountOutside(in.rows(), *scratch, outside);
  out.Begin(schema_);
  for (size_t c = 0; c < outputs_.size(); ++c) {
    const auto n = static_cast<size_t>(outputs_[c].node);
    ColumnBlock& to = out[static_cast<int>(c)];
    if (nodes_[n].column.empty()) {
      ToBlock(scratch->values[n], nodes_[n].type, to);
    } else {
      CopyColumn(in[scratch->columns[n]], to);
    }
  }
  out.SetRows(in.rows());
  GiveScratch(std::move(scratch));
}

void FeatureGraph::Fit(const RowBlock& in) const {
  auto scratch = TakeScratch();
  Compute(in, *scratch);
  for (const FeatureNode& node : nodes_) {
    if (!node.fitter) continue;
    scratch->args.clear();
    for (const int arg : node.args) {
      scratch->args.push_back(&scratch->values[static_cast<size_t>(arg)]);
    }
    node.fitter->Add({in.rows(), scratch->args, node.place});
  }
  GiveScratch(std::move(scratch));
}

}  // namespace catamaran

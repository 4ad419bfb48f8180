// serve/learn/batch_builder.cc

#include "catamaran/serve/learn/batch_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/train/train_data.h"

namespace catamaran {

BatchBuilder::BatchBuilder(const Program& flat, const EntryPoints& entry,
                           const std::optional<Features>& features, const FeedOptions& feed)
    : flat_(flat),
      entry_(entry),
      features_(features),
      feed_(feed),
      train_(*flat.items.FindFunction(entry.train)) {
  for (int i = 0; i < train_.num_params(); ++i) {
    has_weight_ |= train_.param(i)->name == kWeightArgument;
  }
}

void BatchBuilder::Bind(const SchemaRecord& schema, Group& group) {
  FeedOptions feed = feed_;
  feed.data = "rows of the log";
  Schema columns = schema.columns;
  if (schema.transform != 0) {
    if (!features_) Fail("they are raw rows, and the model has no features file");
    group.transform = BindFeatures(*features_, schema.columns, flat_, {entry_.infer}, feed_, {});
    columns = group.transform->schema();
  } else {
    feed.bind.clear();  // tensors are called as the arguments are
  }
  std::vector<Column> all;
  for (const Column& column : columns) {
    const bool ours =
        column.name == kWeightArgument ||
        std::find(entry_.labels.begin(), entry_.labels.end(), column.name) != entry_.labels.end();
    if (ours) Fail("column {} of the features has the name of a label", column.name);
    all.push_back(column);
  }
  for (const std::string& label : entry_.labels) all.push_back(Column::Dense(label));
  if (has_weight_) all.push_back(Column::Dense(std::string(kWeightArgument)));
  group.with_labels = Schema(std::move(all));
  group.binding = std::make_unique<FeedBinding>(flat_, train_, group.with_labels, feed);
  group.feeder = std::make_unique<Feeder>(*group.binding);
}

BatchBuilder::Group& BatchBuilder::GroupOf(const SchemaRecord& schema) {
  const auto [found, made] = groups_.try_emplace(schema.id);
  Group& group = found->second;
  if (made) {
    try {
      Bind(schema, group);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kResourceExhausted) {
        groups_.erase(found);
        throw;
      }
      group.problem = error.what();
    }
    group.raw.Begin(schema.columns);
  }
  return group;
}

const BatchBuilder::Decoded& BatchBuilder::Decode(LogOffset offset, const ExampleStream& stream,
                                                  const ReadRecord& read) {
  const auto [found, made] = decoded_.try_emplace(offset);
  Decoded& decoded = found->second;
  if (!made) return decoded;
  LogRecord record;
  read(offset, buffer_, record);
  LoggedRows rows;
  if (record.type == static_cast<uint8_t>(RecordType::kExample)) {
    ExampleRecord example;
    catamaran::Decode(record.payload, example);
    rows = std::move(example.rows);
  } else if (record.type == static_cast<uint8_t>(RecordType::kImpression)) {
    ImpressionRecord impression;
    catamaran::Decode(record.payload, impression);
    rows = std::move(impression.rows);
    decoded.predictions = std::move(impression.predictions);
  } else {
    Fail("the log at offset {}: {}; an example has its features there", offset,
         RecordTypeName(record.type));
  }
  decoded.schema = rows.schema;
  DecodeRows(rows, stream.FindSchema(rows.schema).columns, decoded.rows);
  return decoded;
}

void BatchBuilder::Read(const std::vector<JoinedExample>& examples, const ExampleStream& stream,
                        const ReadRecord& read) {
  decoded_.clear();
  rows_.clear();
  unusable_ = 0;
  for (auto& [id, group] : groups_) {
    group.raw.Begin(group.raw.schema());
    group.examples.clear();
    group.predictions.clear();
  }
  for (const JoinedExample& example : examples) {
    const Decoded& decoded = Decode(example.features, stream, read);
    Group& group = GroupOf(stream.FindSchema(decoded.schema));
    if (example.row >= decoded.rows.rows()) {
      Fail("the log at offset {}: it has {} rows; an example has its features in row {}",
           example.features, decoded.rows.rows(), example.row);
    }
    if (!group.problem.empty() || example.labels.size() != entry_.labels.size()) {
      ++unusable_;
      continue;
    }
    group.raw.AppendRows(decoded.rows, example.row, example.row + 1);
    group.examples.push_back(&example);
    group.predictions.push_back(decoded.predictions.empty()
                                    ? std::numeric_limits<float>::quiet_NaN()
                                    : decoded.predictions[example.row]);
  }
  for (const auto& [id, group] : groups_) {
    for (size_t i = 0; i < group.examples.size(); ++i) {
      const JoinedExample& example = *group.examples[i];
      rows_.push_back(
          {group.predictions[i], example.labels.empty() ? 0 : example.labels[0], example.weight});
    }
  }
}

std::span<const FeedValue> BatchBuilder::FeedGroup(Group& group) {
  RowBlock* features = &group.raw;
  if (group.transform) {
    group.transform->Apply(group.raw, group.transformed);
    features = &group.transformed;
  }
  RowBlock& batch = group.batch;
  batch.Begin(group.with_labels);
  const int columns = features->schema().size();
  for (int c = 0; c < columns; ++c) std::swap(batch[c], (*features)[c]);
  for (const JoinedExample* example : group.examples) {
    int c = columns;
    for (const float label : example->labels) batch[c++].floats.push_back(label);
    if (has_weight_) batch[c].floats.push_back(example->weight);
  }
  batch.SetRows(static_cast<int64_t>(group.examples.size()));
  return group.feeder->Feed(batch);
}

std::span<const FeedValue> BatchBuilder::Feed() {
  std::vector<Group*> used;
  for (auto& [id, group] : groups_) {
    if (!group.examples.empty()) used.push_back(&group);
  }
  if (used.empty()) return {};
  if (used.size() == 1) return FeedGroup(*used[0]);
  joined_.assign(static_cast<size_t>(train_.num_params()), {});
  for (Group* group : used) {
    const auto feeds = FeedGroup(*group);
    for (size_t i = 0; i < feeds.size(); ++i) Append(i, feeds[i]);
  }
  feeds_.clear();
  for (Joined& joined : joined_) {
    FeedValue value;
    value.tensor = joined.view;
    value.tensor.data = joined.values.data();
    if (!joined.offsets.empty()) {
      value.offsets = joined.offsets.data();
      value.num_offsets = static_cast<int64_t>(joined.offsets.size());
    }
    feeds_.push_back(value);
  }
  return feeds_;
}

void BatchBuilder::Check(const SchemaRecord& schema, const LoggedRows& rows,
                         std::span<const float> labels, std::span<const float> weights,
                         bool allow_nan) {
  Group& group = GroupOf(schema);
  if (!group.problem.empty()) Fail(ErrorCode::kBadData, "{}", group.problem);
  DecodeRows(rows, schema.columns, group.raw);
  const size_t width = entry_.labels.size();
  std::vector<JoinedExample> examples(static_cast<size_t>(rows.rows));
  group.examples.clear();
  for (size_t r = 0; r < examples.size(); ++r) {
    examples[r].labels.assign(labels.begin() + static_cast<std::ptrdiff_t>(r * width),
                              labels.begin() + static_cast<std::ptrdiff_t>((r + 1) * width));
    if (!weights.empty()) examples[r].weight = weights[r];
    group.examples.push_back(&examples[r]);
  }
  const auto feeds = FeedGroup(group);
  if (!allow_nan) CheckFinite(feeds);
  group.examples.clear();
}

void BatchBuilder::CheckFinite(std::span<const FeedValue> feeds) const {
  for (size_t i = 0; i < feeds.size(); ++i) {
    const TensorView& view = feeds[i].tensor;
    if (view.dtype != DType::kF32) continue;
    const std::span values(static_cast<const float*>(view.data),
                           static_cast<size_t>(view.shape.num_elements()));
    const auto bad =
        std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    if (bad == values.end()) continue;
    const std::string& name = train_.param(static_cast<int>(i))->name;
    if (feeds[i].num_offsets > 0) Fail("{} has an element that is {}", name, *bad);
    const int64_t width = view.shape.num_elements() / view.shape.dim(0);
    Fail("row {}: {} is {}; learning takes finite numbers (setting allow_nan)",
         (bad - values.begin()) / width, name, *bad);
  }
}

// Puts the rows of one schema behind those that are there.
void BatchBuilder::Append(size_t argument, const FeedValue& value) {
  Joined& joined = joined_[argument];
  const TensorView& view = value.tensor;
  const bool first = joined.view.shape.rank() == 0;
  const int64_t before = first ? 0 : joined.view.shape.dim(0);
  if (first) {
    joined.view = view;
  } else {
    Shape shape{before + view.shape.dim(0)};
    for (int axis = 1; axis < view.shape.rank(); ++axis) shape.Append(view.shape.dim(axis));
    joined.view.shape = shape;
  }
  const auto* bytes = static_cast<const std::byte*>(view.data);
  joined.values.insert(joined.values.end(), bytes, bytes + view.num_bytes());
  for (int64_t i = first ? 0 : 1; i < value.num_offsets; ++i) {
    joined.offsets.push_back(before + value.offsets[i]);
  }
}

}  // namespace catamaran

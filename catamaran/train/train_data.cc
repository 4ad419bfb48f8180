// train/train_data.cc

#include "catamaran/train/train_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "catamaran/base/error.h"
#include "catamaran/train/label_rules.h"

namespace catamaran {
namespace {

// The columns of `schema` that are fed or named, in the schema's order.
std::vector<std::string> NeededColumns(const Program& flat, const Schema& schema,
                                       const std::vector<std::string>& functions,
                                       const FeedOptions& feed,
                                       const std::vector<std::string>& more) {
  std::vector<bool> needed(static_cast<size_t>(schema.size()));
  const auto need = [&](const std::string& name) {
    needed[static_cast<size_t>(schema.Index(name, feed.data))] = true;
  };
  for (const std::string& function : functions) {
    const FeedBinding binding(flat, *flat.items.FindFunction(function), schema, feed);
    for (const std::string& column : binding.Columns()) need(column);
  }
  for (const std::string& column : more) need(column);
  std::vector<std::string> names;
  for (int c = 0; c < schema.size(); ++c) {
    if (needed[static_cast<size_t>(c)]) names.push_back(schema[c].name);
  }
  return names;
}

}  // namespace

std::string NameOf(const TrainData& data) {
  if (data.paths.empty()) return "the data";
  if (data.paths.size() == 1) return data.paths[0];
  return fmt::format("{} and {} more", data.paths[0], data.paths.size() - 1);
}

std::vector<std::string> OutputsFor(const Features& features, const Program& flat,
                                    const std::vector<std::string>& functions,
                                    const FeedOptions& feed, const std::vector<std::string>& more) {
  std::set<std::string> taken(more.begin(), more.end());
  for (const std::string& function : functions) {
    const Function& f = *flat.items.FindFunction(function);
    for (int i = 0; i < f.num_params(); ++i) {
      const std::string& name = f.param(i)->name;
      if (feed.given.contains(name)) continue;
      const auto bound = feed.bind.find(name);
      if (bound != feed.bind.end()) {
        taken.insert(bound->second.begin(), bound->second.end());
      } else {
        taken.insert(name);
        if (name.ends_with("_weights")) taken.insert(name.substr(0, name.size() - 8));
      }
    }
  }
  std::vector<std::string> wanted;
  for (const std::string& output : features.outputs()) {
    if (taken.contains(output)) wanted.push_back(output);
  }
  return wanted;
}

std::shared_ptr<const RowTransform> BindFeatures(const Features& features, const Schema& columns,
                                                 const Program& flat,
                                                 const std::vector<std::string>& functions,
                                                 const FeedOptions& feed,
                                                 const std::vector<std::string>& more) {
  // Where nothing fits, all of them: so that the error can list them.
  return features.Bind(columns, OutputsFor(features, flat, functions, feed, more));
}

ReaderOptions ReaderOf(const Features& features, ReaderOptions reader,
                       const std::vector<std::string>& outputs,
                       const std::vector<std::string>& more) {
  reader = features.ReaderSettings(std::move(reader));
  reader.need_columns = true;
  const std::optional<Schema> declared = features.declared_inputs();
  if (!declared || !reader.columns.empty()) return reader;
  reader.columns = features.Bind(*declared, outputs)->inputs();
  for (const std::string& column : more) {
    if (std::ranges::count(reader.columns, column) == 0) reader.columns.push_back(column);
  }
  return reader;
}

OpenedData OpenTrainData(const FileSystem& fs, const TrainData& data, const Program& flat,
                         const std::vector<std::string>& functions, const FeedOptions& feed,
                         const std::vector<std::string>& more_columns, const EntryPoints* entry) {
  OpenedData opened;
  PipelineOptions pipeline = data.pipeline;
  const auto check_labels = [&](const Schema& schema) {
    if (entry == nullptr) return;
    pipeline.check = LabelRules(flat, *entry).Check(flat, *entry, schema, feed);
  };
  if (data.open) {
    const auto reader = data.open({});
    opened.rows = reader->num_rows();
    const Schema schema = pipeline.transform ? pipeline.transform->schema() : reader->schema();
    NeededColumns(flat, schema, functions, feed, more_columns);
    check_labels(schema);
    opened.pipeline = std::make_unique<Pipeline>(data.open, data.reader.bad_rows, pipeline);
    return opened;
  }
  if (data.paths.empty()) Fail("no data was given");
  std::vector<std::string> more = more_columns;
  if (!data.pipeline.token_column.empty()) more.push_back(data.pipeline.token_column);
  ReaderOptions reader = data.reader;
  reader.need_columns = true;
  if (data.features) {
    reader = ReaderOf(*data.features, reader,
                      OutputsFor(*data.features, flat, functions, feed, more), {});
  }
  const auto whole = OpenReader(fs, data.paths, reader);
  opened.rows = whole->num_rows();
  if (data.features) {
    pipeline.transform = BindFeatures(*data.features, whole->schema(), flat, functions, feed, more);
  }
  Schema fed = pipeline.transform ? pipeline.transform->schema() : whole->schema();
  const std::vector<std::string> needed = NeededColumns(flat, fed, functions, feed, more);
  if (!pipeline.transform) {
    reader.columns = needed;
    fed = fed.Select(needed, feed.data);
  }
  check_labels(fed);
  opened.pipeline = std::make_unique<Pipeline>(fs, data.paths, reader, pipeline);
  return opened;
}

}  // namespace catamaran

// train/train_data.cc

#include "catamaran/train/train_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "catamaran/base/error.h"

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

std::shared_ptr<const RowTransform> BindFeatures(const Features& features, const Schema& columns,
                                                 const Program& flat,
                                                 const std::vector<std::string>& functions,
                                                 const FeedOptions& feed,
                                                 const std::vector<std::string>& more) {
  const std::vector<std::string> outputs = features.outputs();
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
  for (const std::string& output : outputs) {
    if (taken.contains(output)) wanted.push_back(output);
  }
  // Where nothing fits, all of them: so that the error can list them.
  return features.Bind(columns, wanted);
}

OpenedData OpenTrainData(const FileSystem& fs, const TrainData& data, const Program& flat,
                         const std::vector<std::string>& functions, const FeedOptions& feed,
                         const std::vector<std::string>& more_columns) {
  OpenedData opened;
  if (data.open) {
    opened.rows = data.open({})->num_rows();
    opened.pipeline = std::make_unique<Pipeline>(data.open, data.reader.bad_rows, data.pipeline);
    NeededColumns(flat, opened.pipeline->schema(), functions, feed, more_columns);
    return opened;
  }
  if (data.paths.empty()) Fail("no data was given");
  ReaderOptions reader = data.reader;
  if (data.features) reader = data.features->ReaderSettings(reader);
  const auto whole = OpenReader(fs, data.paths, reader);
  opened.rows = whole->num_rows();
  std::vector<std::string> more = more_columns;
  if (!data.pipeline.token_column.empty()) more.push_back(data.pipeline.token_column);
  PipelineOptions pipeline = data.pipeline;
  if (data.features) {
    pipeline.transform = BindFeatures(*data.features, whole->schema(), flat, functions, feed, more);
  }
  if (pipeline.transform) {
    NeededColumns(flat, pipeline.transform->schema(), functions, feed, more);
  } else {
    reader.columns = NeededColumns(flat, whole->schema(), functions, feed, more);
  }
  opened.pipeline = std::make_unique<Pipeline>(fs, data.paths, reader, pipeline);
  return opened;
}

}  // namespace catamaran

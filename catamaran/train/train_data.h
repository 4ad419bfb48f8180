// train/train_data.h
//
// The rows that a program learns from or is measured on, and the pipeline over them that reads no
// more columns than are needed.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"

namespace catamaran {

struct TrainData {
  // Files of rows, as OpenReader takes them.
  std::vector<std::string> paths;
  ReaderOptions reader;
  // In place of files: any rows.
  OpenRows open;
  // What becomes of them before they are fed; else pipeline.transform, or nothing.
  std::optional<Features> features;
  PipelineOptions pipeline;
};

// "day1.rec and 3 more": for errors and summaries.
std::string NameOf(const TrainData& data);

// The transform of rows with these columns to those outputs that the arguments of `functions` take,
// and `more`.
std::shared_ptr<const RowTransform> BindFeatures(const Features& features, const Schema& columns,
                                                 const Program& flat,
                                                 const std::vector<std::string>& functions,
                                                 const FeedOptions& feed,
                                                 const std::vector<std::string>& more);

// The outputs of the features that the arguments of `functions` take, and `more`.
std::vector<std::string> OutputsFor(const Features& features, const Program& flat,
                                    const std::vector<std::string>& functions,
                                    const FeedOptions& feed, const std::vector<std::string>& more);

// How files are read that go through these features: as ReaderSettings, and no column need be there
// but those that the named outputs are made of, and `more`.
ReaderOptions ReaderOf(const Features& features, ReaderOptions reader,
                       const std::vector<std::string>& outputs,
                       const std::vector<std::string>& more);

struct OpenedData {
  std::unique_ptr<Pipeline> pipeline;
  std::optional<int64_t> rows;  // of one epoch, where that is known before reading
};

// `functions` are those whose arguments are fed; `more_columns` are wanted too (of what batches
// have). With `entry`, rows with labels that `entry->train` cannot learn from are bad rows. An
// Error as FeedBinding's if the data does not fit.
OpenedData OpenTrainData(const FileSystem& fs, const TrainData& data, const Program& flat,
                         const std::vector<std::string>& functions, const FeedOptions& feed,
                         const std::vector<std::string>& more_columns,
                         const EntryPoints* entry = nullptr);

}  // namespace catamaran

// train/trained_features.h
//
// Features belong to the model: a state keeps a record of those that it was trained with
// (data/features/features_record.h), and is not used with others unless the user allows it.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/ir/program.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"

namespace catamaran {

// What commits say about themselves (CommitOptions::info).
using CommitInfo = std::map<std::string, std::string>;

// The record of what these features give to the functions of the program; empty without features.
std::string RecordOfFeatures(const std::optional<Features>& features, const Program& flat,
                             const EntryPoints& entry, const FeedOptions& feed);

// Compares with the record in `info`, of a state that was loaded from `directory`. Returns what the
// user should know, or "": that there is no record, that the features differ and this was allowed,
// or that the state was trained with features and none are given. An Error that says what differs
// unless `allow`.
std::string CheckTrainedFeatures(const CommitInfo& info, const std::string& directory,
                                 const std::optional<Features>& features, const Program& flat,
                                 const EntryPoints& entry, const FeedOptions& feed, bool allow);

}  // namespace catamaran

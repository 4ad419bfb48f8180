// serve/model/row_rules.h
//
// Which columns the JSON rows of a model must have and may have. The same rules hold for requests
// for predictions and for rows to learn from. By default a row that lacks a column without a
// default, or has one that the model does not know, is refused; a model that is served leniently
// takes it, and counts.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/text/json_row.h"
#include "catamaran/ir/program.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"

namespace catamaran {

// The names that rows may have: with features their declared inputs, else the arguments of the
// functions and the columns that are bound to them; labels and weight in both cases. Not all of
// them are read by every function.
std::vector<std::string> KnownColumns(const Program& flat, const EntryPoints& entry,
                                      const std::optional<Features>& features,
                                      const FeedOptions& feed);

JsonRowRules RowRulesOf(const Program& flat, const EntryPoints& entry,
                        const std::optional<Features>& features, const FeedOptions& feed,
                        bool lenient);

}  // namespace catamaran

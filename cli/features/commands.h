// cli/features/commands.h
//
// The commands under `catamaran features`, one file each, and what they share.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/data/features/feature_set.h"
#include "cli/data/commands.h"
#include "cli/session.h"

namespace catamaran::cli {

void AddFeaturesShow(CLI::App& features, Session& session);
void AddFeaturesFit(CLI::App& features, Session& session);
void AddFeaturesApply(CLI::App& features, Session& session);
void AddFeaturesCheck(CLI::App& features, Session& session);

struct FeaturesInput {
  std::string file;
  FeatureOptions options;
  DataInput data;
};

// FILE, --features-library, --side-folder.
void AddFeaturesOptions(CLI::App& command, FeaturesInput& input);

// --data, and how data is read.
void AddFeaturesData(CLI::App& command, FeaturesInput& input, bool required);

// Files beside the data are looked for beside the features file, then beside the data.
Features OpenFeatures(const Session& session, const FeaturesInput& input);

// A reader of the data, as the features say and the command line overrides.
std::unique_ptr<RowReader> OpenFeaturesData(const Session& session, const FeaturesInput& input,
                                            const Features& features);

}  // namespace catamaran::cli

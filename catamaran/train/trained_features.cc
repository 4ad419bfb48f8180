#include "catamaran/train/trained_features.h"

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/data/features/features_record.h"
#include "catamaran/train/train_data.h"

namespace catamaran {
namespace {

std::vector<std::string> OutputsOf(const Features& features, const Program& flat,
                                   const EntryPoints& entry, const FeedOptions& feed) {
  std::vector<std::string> functions;
  for (const std::string& name : {entry.train, entry.infer, entry.evaluate}) {
    if (!name.empty() && flat.items.FindFunction(name) != nullptr) functions.push_back(name);
  }
  return OutputsFor(features, flat, functions, feed, {});
}

}  // namespace

std::string RecordOfFeatures(const std::optional<Features>& features, const Program& flat,
                             const EntryPoints& entry, const FeedOptions& feed) {
  if (!features) return "";
  return FeaturesRecord(*features, OutputsOf(*features, flat, entry, feed));
}

std::string CheckTrainedFeatures(const CommitInfo& info, const std::string& directory,
                                 const std::optional<Features>& features, const Program& flat,
                                 const EntryPoints& entry, const FeedOptions& feed, bool allow) {
  const auto record = info.find(kFeaturesRecord);
  if (!features) {
    if (record == info.end()) return "";
    return fmt::format(
        "{}: the state was trained with a features file, and none is given: columns are fed as "
        "they are",
        directory);
  }
  const std::string& path = features->syntax().source->path;
  if (record == info.end()) {
    return fmt::format(
        "{}: it is not recorded which features the state was trained with; {} is "
        "taken",
        directory, path);
  }
  const std::string difference = DifferenceOfFeatures(
      record->second, *features, OutputsOf(*features, flat, entry, feed), directory);
  if (difference.empty()) return "";
  const std::string text =
      fmt::format("{}: the state was trained with other features than {} has now: {}", directory,
                  path, difference);
  if (allow) return text;
  Fail(
      "{}. --allow-changed-features (of a model that is loaded over the network, "
      "allow_changed_features) allows that",
      text);
}

}  // namespace catamaran

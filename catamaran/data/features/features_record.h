// data/features/features_record.h
//
// What a model's features compute, as text that is kept with its states: one line for each output,
// `let`, input column, default, fit and file beside the data, without what does not matter
// (comments, spaces, the order of lines and of settings). docs/formats/features.md describes it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/features/feature_set.h"

namespace catamaran {

// The name of the record in what a commit says about itself (CommitManifest::info).
inline constexpr const char* kFeaturesRecord = "features";

// Of the named outputs, and of all that they are made of.
std::string FeaturesRecord(const Features& features, const std::vector<std::string>& outputs);

// What `now` computes otherwise than the record says, with the line of its file; empty: nothing.
// What only one of the two has is no difference: a program that needs it is refused elsewhere. An
// Error that begins with `what` if the record is damaged or of a later version.
std::string DifferenceOfFeatures(std::string_view recorded, const Features& now,
                                 const std::vector<std::string>& outputs, const std::string& what);

}  // namespace catamaran

// ops/sparse/feature.h
//
// The attribute `feature` of the ops that read or observe a table: whose ids these are. Ids of
// different features are different keys of the table they share.

#pragma once

#include <string>
#include <vector>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/table/table_config.h"

namespace catamaran {

inline OpBuilder& AddFeature(OpBuilder& op) {
  return op.OptionalAttr("feature", AttrKind::kString,
                         "one of the table's features, whose ids these are; equal ids of different "
                         "features have different rows");
}

// What the keys of an op are salted with; 0 without a feature.
inline uint64_t SaltOf(const Op& op) {
  const Attr& feature = op.attr("feature");
  return feature.empty() ? 0 : FeatureSalt(feature.AsWord());
}

// The features that a table declares, as written.
std::vector<std::string> DeclaredFeatures(const StateDecl& table);

// Checks that states[0] declares the feature; reports and returns false.
bool WantFeature(InferContext& c);

}  // namespace catamaran

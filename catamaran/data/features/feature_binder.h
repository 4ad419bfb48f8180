// data/features/feature_binder.h

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/data/features/feature_graph.h"
#include "catamaran/data/features/feature_set.h"

namespace catamaran {

enum class Unfitted : uint8_t {
  kRefuse,  // an Error that says the command
  kAllow,   // nodes have fitters; outputs that depend on them are left out
};

// The graph of the named outputs (empty: all) over these columns.
std::shared_ptr<FeatureGraph> BindFeatures(const Features& features, const Schema& columns,
                                           const std::vector<std::string>& outputs,
                                           Unfitted unfitted);

}  // namespace catamaran

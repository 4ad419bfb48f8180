// data/features/bucket.h

#pragma once

#include <vector>

#include "catamaran/data/features/feature_function.h"

namespace catamaran {

// For each number of value 0, how many boundaries are not larger; one more than their number where
// it is missing. REQUIRES: they rise.
FeatureKernel BucketKernel(FeatureCall& call, std::vector<double> boundaries);

}  // namespace catamaran

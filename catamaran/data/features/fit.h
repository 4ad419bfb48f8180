// data/features/fit.h
//
// Learns from data what a features file needs: means, boundaries, vocabularies.

#pragma once

#include <functional>
#include <memory>

#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/reader.h"

namespace catamaran {

// The same features with everything fitted. `open` gives a reader from the beginning; it is called
// once for each time that the data is read: once, and once more for each fit of something fitted.
// Fits that `features` has already are made anew.
Features FitFeatures(const Features& features,
                     const std::function<std::unique_ptr<RowReader>()>& open);

}  // namespace catamaran

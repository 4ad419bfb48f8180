// data/features/data_settings.h
//
// How files are read, as a features file says it: the settings of `data(…)` and `file name(…)`.

#pragma once

#include <string>
#include <vector>

#include "catamaran/data/features/feature_syntax.h"
#include "catamaran/data/reader.h"

namespace catamaran {

struct DataSettings {
  ReaderOptions options;
  std::vector<std::string> key;  // of a side file
  bool repeated_first = false;   // of rows with equal keys the first counts; else they are refused
};

enum class DataLine : uint8_t { kData, kSideFile };

// An Error that shows the place if a setting is not known or has the wrong kind of value.
DataSettings ReadDataSettings(const FeatureSource& source,
                              const std::vector<FeatureSetting>& settings, DataLine line);

}  // namespace catamaran

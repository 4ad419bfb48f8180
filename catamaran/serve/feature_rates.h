// serve/feature_rates.h
//
// How many rows of requests lacked a feature, or had it outside of what is known of it.

#pragma once

#include <cstdint>
#include <string>

namespace catamaran {

struct FeatureRates {
  std::string name;     // of a column of JSON rows, or of an argument
  int64_t rows = 0;     // that could have it
  int64_t missing = 0;  // absent, null, empty, or not a number
  int64_t outside = 0;  // of its range: of borders, of what was seen in fitting, an unknown word
};

}  // namespace catamaran

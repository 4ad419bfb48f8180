// serve/model_details.h
//
// What there is to see of one version of a model beside its status: for people who look at it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catamaran/serve/feature_rates.h"
#include "catamaran/table/table.h"

namespace catamaran {

struct TableDetails {
  std::string name;  // "feat" for @feat
  int64_t width = 0;
  TableInfo info;
};

struct ModelDetails {
  std::vector<FeatureRates> features;  // of requests lately
  int64_t parameter_bytes = 0;         // of params and vars
  std::vector<TableDetails> tables;
  // How long requests took, from arrival to answer: upper bounds in seconds, and how many there
  // were so far in each bucket; one more, without a bound, is behind them.
  std::vector<double> latency_bounds;
  std::vector<uint64_t> latency_counts;
};

}  // namespace catamaran

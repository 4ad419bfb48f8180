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

// What a line of the program's file takes of a run, on average over those that were measured.
struct LineTime {
  int line = 0;  // from 1
  double seconds = 0;
};

struct ModelDetails {
  int64_t measured_runs = 0;
  std::vector<LineTime> lines;         // by line; lines that take no time are left out
  std::vector<FeatureRates> features;  // of requests lately
  int64_t parameter_bytes = 0;         // of params and vars
  std::vector<TableDetails> tables;
  // How long requests took, from arrival to answer: upper bounds in seconds, and how many there
  // were so far in each bucket; one more, without a bound, is behind them.
  std::vector<double> latency_bounds;
  std::vector<uint64_t> latency_counts;
};

}  // namespace catamaran

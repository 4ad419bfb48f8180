// train/counters.h
//
// What a trainer knows beside the state and the place in the data: committed with them, so that a
// run that goes on counts on.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catamaran/train/early_stopping.h"
#include "catamaran/train/metrics.h"

namespace catamaran {

// What decides the results of a run, by name: "batch" to "128". A run goes on with the same.
using RunSettings = std::map<std::string, std::string>;

struct TrainCounters {
  int64_t batches = 0;  // learned from, or refused
  int64_t rows = 0;     // in them
  int64_t epoch = 0;
  int64_t refused = 0;
  int64_t refused_in_a_row = 0;
  int64_t unwritten = 0;  // rows and parameters that kept numbers, as the next ones are not finite
  double seconds = 0;     // of training, validations included
  int64_t last_validation = -1;  // batches when it was; -1: none yet
  bool validation_due = false;   // it was begun and not ended
  bool finished = false;         // there was nothing left to do
  BestSoFar best;
  uint64_t metrics_bytes = 0;              // of metrics.jsonl
  int64_t logged_batches = 0;              // when the last line of training was written
  int64_t event_time = 0;                  // of rows that have none
  int64_t window_end = 0;                  // of a window by event time
  std::vector<RowAverages::Sum> averages;  // since that line
  RunSettings settings;
};

std::string FormatCounters(const TrainCounters& counters);
// An Error that begins with `what` if the text is not such.
TrainCounters ParseCounters(const std::string& text, const std::string& what);

// "batch was 128 and is 256; …"; empty where both are equal.
std::string DifferenceOfSettings(const RunSettings& before, const RunSettings& now);

}  // namespace catamaran

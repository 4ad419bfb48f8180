// train/report.h
//
// A run as one HTML file that needs nothing else: curves of all that was measured, drawn as SVG,
// with a table of the validations. It is shown light or dark as the reader's system is.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catamaran/train/metrics_log.h"

namespace catamaran {

struct ReportFacts {
  std::string title;
  std::vector<std::pair<std::string, std::string>> settings;  // shown as they are
  std::string best_metric;                                    // empty: none
  bool best_is_higher = false;
};

std::string MakeReport(const ReportFacts& facts, const std::vector<MetricsLine>& lines);

}  // namespace catamaran

// train/metrics_log.h
//
// The file metrics.jsonl of a run: one JSON object a line, what was measured when.
//
//   {"kind": "train", "step": 100, "epoch": 0, "rows": 12800, "seconds": 1.5,
//    "metrics": {"loss": 0.41}, "rows_per_second": 8500}
//   {"kind": "valid", "step": 1000, …, "metrics": {"loss": 0.4, "auc": 0.78}, "best": true}
//   {"kind": "window", …}      a window of rows that were predicted before they were learned from
//
// `step` counts batches. Numbers that JSON does not have (NaN, infinities) are null.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/train/metrics.h"

namespace catamaran {

struct MetricsLine {
  std::string kind;  // "train", "valid", "window"
  int64_t step = 0;
  int64_t epoch = 0;
  int64_t rows = 0;
  double seconds = 0;
  MetricValues metrics;
  double rows_per_second = 0;  // 0: not said
  bool best = false;
  int64_t refused = 0;     // so far
  int64_t event_time = 0;  // of windows: where it ended, in nanoseconds
};

std::string FormatLine(const MetricsLine& line);
// An Error that begins with `what` if it is no such line.
MetricsLine ParseLine(const std::string& text, const std::string& what);
std::vector<MetricsLine> ReadMetrics(const FileSystem& fs, const std::string& path);

class MetricsLog {
 public:
  // Goes on after the first `size` bytes; what is behind them goes. An Error if there are fewer.
  MetricsLog(FileSystem& fs, const std::string& path, uint64_t size);

  void Append(const MetricsLine& line);
  // Returns when all lines would survive a loss of power.
  void Sync() { file_->Sync(); }
  uint64_t size() const { return size_; }

 private:
  std::unique_ptr<WritableFile> file_;
  uint64_t size_ = 0;
};

}  // namespace catamaran

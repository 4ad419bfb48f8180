// serve/wire/http/model_history.h
//
// What a model did lately, in points of equal distance: rates, latency percentiles, how well it
// learns. For pages that draw it. There are two lines of points, one a second for ten minutes and
// one a minute for a day; older ones go.
//
// Thread safety: none; the owner has a lock.

#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/model_details.h"
#include "catamaran/serve/server.h"

namespace catamaran {

// All that is known of a model at one moment; numbers that only grow are so since it was loaded.
struct ModelMoment {
  int64_t time_ms = 0;  // since 1970
  ModelStatus status;
  ModelDetails details;
  LearningStatus learning;  // of one that learns
};

enum class HistoryField : uint8_t {
  kRequests,  // answered, a second
  kRefused,   // refused and failed, a second
  kP50,       // seconds from arrival to answer
  kP99,
  kExamples,  // learned from, a second
  kFeedback,  // a second
  kAuc,
  kFrozenAuc,      // of a state that does not learn,
  kFrozenLiveAuc,  // and of the one that does on the same examples
  kLogLoss,
  kCalibration,
  kPredictionPsi,  // of the drift alarm
  kFeaturePsi,
  kLoss,       // of the newest step
  kFreshness,  // 99th percentile, seconds
  kLag,        // bytes of the log
  kWaiting,    // examples
  kRows,       // of all tables
  kTableBytes,
  kCount,
};
inline constexpr size_t kHistoryFields = static_cast<size_t>(HistoryField::kCount);
// "requests", …: what the field is called in JSON.
const char* Name(HistoryField field);

struct HistoryPoint {
  int64_t time_ms = 0;
  std::array<double, kHistoryFields> values;  // NaN: not known
  double at(HistoryField field) const { return values[static_cast<size_t>(field)]; }
};

// What went on from one moment to a later one.
HistoryPoint PointBetween(const ModelMoment& from, const ModelMoment& to);

// The value below which `part` of what the buckets count lies, as if it lay evenly in each bucket;
// NaN if there is nothing. The last bucket has no bound: all in it counts as the last bound.
double Percentile(std::span<const double> bounds, std::span<const uint64_t> counts, double part);

class ModelHistory {
 public:
  // Times must rise; moments closer to each other than a second are taken only as the newest.
  void Add(const ModelMoment& now);

  const ModelMoment& newest() const { return newest_; }
  // The point over the last ten seconds, or what there is of them.
  HistoryPoint Lately() const;
  // Percentile of the latency over the same time.
  double LatelyLatency(double part) const;

  const std::deque<HistoryPoint>& seconds() const { return seconds_.points; }
  const std::deque<HistoryPoint>& minutes() const { return minutes_.points; }

 private:
  struct Line {
    int64_t distance_ms;
    size_t most;
    ModelMoment last;
    std::deque<HistoryPoint> points;
    void Add(const ModelMoment& now);
  };

  ModelMoment newest_;
  std::deque<ModelMoment> lately_;
  Line seconds_{1000, 600, {}, {}}, minutes_{60'000, 1440, {}, {}};
};

}  // namespace catamaran

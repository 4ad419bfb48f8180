// train/metric_observers.h
//
// Parts of a program that wait for what a validation says: a schedule that falls when the loss has
// stopped falling (`rate = plateau(0.1)` has a function `rate.observe(loss: f32[])`). After each
// validation every function `….observe` is run on the metrics that its arguments are named after.
// What it learns from them is state, committed with the rest.
//
// Thread safety: one thread at a time.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/exec/compile.h"
#include "catamaran/exec/state.h"
#include "catamaran/train/metrics.h"

namespace catamaran {

class MetricObservers {
 public:
  // Finds them: functions whose names end in ".observe", that write state and take f32[] alone.
  MetricObservers(const Program& flat, const CompileOptions& options);

  // Of the first, or "" where there is none.
  std::string name() const;

  // An Error that lists the metrics if an argument is named after none of them.
  void Observe(State& state, const MetricValues& values, int64_t event_time) const;

 private:
  std::vector<std::shared_ptr<const Executable>> functions_;
};

}  // namespace catamaran

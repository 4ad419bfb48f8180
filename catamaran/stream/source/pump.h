// stream/source/pump.h
//
// Moves records from a Source to a Sink: at once, or as far apart as their times are, any number of
// times faster.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "catamaran/base/clock.h"
#include "catamaran/stream/source.h"

namespace catamaran {

struct PumpOptions {
  // How many seconds of record time pass in a second; 0: no waiting at all. A record that is older
  // than one before it does not wait.
  double speed = 0;
  uint64_t max_records = UINT64_MAX;
  // Records that the sink has taken and not kept yet; more wait.
  uint64_t max_in_flight = 10'000;
  const Clock* clock = &SteadyClock();
  // Waits that long; null: sleeps.
  std::function<void(std::chrono::nanoseconds)> sleep;
  // Looked at between records; null: never stops.
  const std::atomic<bool>* stop = nullptr;
};

// Returns when the source is at its end, or `stop` or `max_records` says so, and everything that
// was moved is kept; how many records that was. Where the source or the sink fails it throws: the
// source then stands behind the last record that the sink took, so a later call goes on with the
// next.
uint64_t Pump(Source& source, Sink& sink, const PumpOptions& options = {});

}  // namespace catamaran

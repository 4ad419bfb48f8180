// cli/train/stop_signals.h
//
// Ctrl-C and SIGTERM while something trains: the first asks it to stop in order, a second ends the
// process at once. While this lives; one at a time.

#pragma once

namespace catamaran {
class Trainer;
}

namespace catamaran::cli {

class StopSignals {
 public:
  explicit StopSignals(Trainer& trainer);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

}  // namespace catamaran::cli

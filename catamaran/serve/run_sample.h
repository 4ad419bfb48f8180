// serve/run_sample.h
//
// Where the time of served runs goes, line by line of the program: the ops of one run in so many
// are measured, so that it costs the others nothing.
//
// Thread safety: all methods may be called concurrently. Executables that were measured outlive it.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "catamaran/exec/profile.h"
#include "catamaran/serve/model_details.h"

namespace catamaran {

class RunSample {
 public:
  // Were a run that is measured twice as long as others, all would still take less than one
  // percent more.
  static constexpr uint64_t kEvery = 128;

  // For the RunOptions of the next run: null but for one in kEvery, the first among them.
  Profile* Next() {
    if (runs_.fetch_add(1, std::memory_order_relaxed) % kEvery != 0) return nullptr;
    measured_.fetch_add(1, std::memory_order_relaxed);
    return &profile_;
  }

  int64_t measured() const { return measured_.load(std::memory_order_relaxed); }
  // Of the program file at `path`.
  std::vector<LineTime> Lines(const std::string& path) const;

 private:
  std::atomic<uint64_t> runs_ = 0;
  std::atomic<int64_t> measured_ = 0;
  Profile profile_{{.every = 1, .trace = nullptr}};
};

}  // namespace catamaran

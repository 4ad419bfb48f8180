// base/memory_sampler.h
//
// How much memory the process has, over time: a thread of its own that looks every few
// milliseconds and writes it to a trace as the number "memory (MB)".

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

#include "catamaran/base/trace.h"

namespace catamaran {

// Bytes of the process that are in memory now; 0 where the system does not say.
size_t ResidentBytes();

class MemorySampler {
 public:
  // Samples until it is destroyed. The trace stays longer.
  explicit MemorySampler(Trace& trace,
                         std::chrono::milliseconds every = std::chrono::milliseconds(5));
  ~MemorySampler();
  MemorySampler(const MemorySampler&) = delete;
  MemorySampler& operator=(const MemorySampler&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace catamaran

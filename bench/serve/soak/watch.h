// bench/serve/soak/watch.h
//
// Memory, descriptors and threads of the server's process, once a second, as the system counts
// them.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace catamaran::bench {

struct ProcessSample {
  pid_t pid = 0;
  double at = 0;  // Now()
  double memory_bytes = 0, descriptors = 0, threads = 0;
};
// Zeros if there is no such process (any more).
ProcessSample SampleProcess(pid_t pid);

struct ProcessGrowth {
  double first = 0, last = 0;  // medians of the first and last quarter
  double Percent() const { return first > 0 ? (last / first - 1) * 100 : 0; }
};

class ProcessWatch {
 public:
  // `pid` says whom to look at; 0: nobody at present.
  explicit ProcessWatch(std::function<pid_t()> pid);
  ~ProcessWatch();

  ProcessSample Newest() const;
  // Over the life of the process that ran last, leaving out its first `warm` seconds.
  ProcessGrowth Growth(double ProcessSample::*what, double warm) const;
  // How long that life is, less `warm`.
  double Seconds(double warm) const;

 private:
  std::vector<ProcessSample> LastLife(double warm) const;

  const std::function<pid_t()> pid_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<ProcessSample> samples_;
  std::thread thread_;
};

}  // namespace catamaran::bench

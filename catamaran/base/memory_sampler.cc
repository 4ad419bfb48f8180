#include "catamaran/base/memory_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "catamaran/base/start_thread.h"

namespace catamaran {

size_t ResidentBytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128] = {};
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return 0;
  // Pages in all, then those in memory.
  char* end = nullptr;
  std::strtoull(text, &end, 10);
  return static_cast<size_t>(std::strtoull(end, nullptr, 10)) *
         static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

MemorySampler::MemorySampler(Trace& trace, std::chrono::milliseconds every) {
  thread_ = StartThread("that samples memory", [this, &trace, every] {
    try {
      trace.NameThread("memory");
      const TraceName* name = trace.Name("memory (MB)");
      std::unique_lock lock(mutex_);
      do {
        trace.Count(name, static_cast<double>(ResidentBytes()) * 1e-6);
      } while (!changed_.wait_for(lock, every, [this] { return stop_; }));
      trace.Count(name, static_cast<double>(ResidentBytes()) * 1e-6);
    } catch (const std::bad_alloc&) {
      // No memory for more samples: the rest of the trace goes without.
    }
  });
}

MemorySampler::~MemorySampler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace catamaran

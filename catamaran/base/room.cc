#include "catamaran/base/room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

void CheckDescriptors(int wanted, std::string_view what_for) {
  std::vector<int> open;
  open.reserve(static_cast<size_t>(wanted));
  int why = 0;
  for (int i = 0; i < wanted && why == 0; ++i) {
    const int descriptor = ::open("/", O_PATH | O_CLOEXEC);
    if (descriptor < 0) {
      why = errno;
    } else {
      open.push_back(descriptor);
    }
  }
  for (const int descriptor : open) ::close(descriptor);
  if (why == 0) return;
  Fail(ErrorCode::kResourceExhausted,
       "{} descriptors are needed {}, and {} can be had: {}; raise the limit (ulimit -n)", wanted,
       what_for, open.size(), std::generic_category().message(why));
}

// Threads that wait for each other to be there.
class WaitingThreads {
 public:
  ~WaitingThreads() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Throws std::system_error or std::bad_alloc.
  void Add() {
    threads_.reserve(threads_.size() + 1);
    threads_.emplace_back([this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return over_; });
    });
  }

  size_t size() const { return threads_.size(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

void CheckThreads(int wanted, std::string_view what_for) {
  WaitingThreads threads;
  try {
    for (int i = 0; i < wanted; ++i) threads.Add();
  } catch (const std::exception& error) {
    Fail(ErrorCode::kResourceExhausted,
         "{} threads are needed {}, and {} can be had: {}; raise the limit of threads (ulimit -u) "
         "or of memory (ulimit -v, -d)",
         wanted, what_for, threads.size(), error.what());
  }
}

// Memory that is not touched.
class HeldMemory {
 public:
  HeldMemory(size_t bytes, std::string_view what_for) : bytes_(bytes) {
    if (bytes == 0) return;
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) {
      Fail(ErrorCode::kResourceExhausted,
           "{} MiB of memory are needed {}, and cannot be had: {}; raise the limit (ulimit -v, -d)",
           bytes >> 20, what_for, std::generic_category().message(errno));
    }
  }
  ~HeldMemory() {
    if (bytes_ > 0) ::munmap(memory_, bytes_);
  }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

 private:
  const size_t bytes_;
  void* memory_ = nullptr;
};

}  // namespace

void CheckRoom(const Room& wanted, std::string_view what_for) {
  if (wanted.descriptors > 0) CheckDescriptors(wanted.descriptors, what_for);
  const HeldMemory memory(wanted.bytes, what_for);
  if (wanted.threads > 0) CheckThreads(wanted.threads, what_for);
}

bool DescriptorsRunOut(int descriptor) {
  constexpr rlim_t kSpare = 32;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return static_cast<rlim_t>(descriptor) + std::min(kSpare, limit.rlim_cur / 4) >= limit.rlim_cur;
}

}  // namespace catamaran

#include "catamaran/base/thread_pool.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "catamaran/base/cpu.h"
#include "catamaran/base/error.h"

// How the parts meet. A job is offered by setting its bit in open_jobs_ and withdrawn by clearing
// it, which the thread that takes the last chunk does. A worker first counts itself in job.workers
// and then looks at the bit; the owner leaves only after the bit was cleared and the count has been
// seen at 0. All four are sequentially consistent, so either the worker sees the cleared bit, or
// the owner sees the worker. Sleeping works the same way: a sleeper counts itself and then looks at
// epoch_; whoever brings work advances epoch_ and then looks at the count.

namespace catamaran {
namespace {

// More chunks than threads, so that a thread which is late costs a part of its share only.
constexpr int64_t kChunksPerThread = 4;

constexpr std::chrono::microseconds kSpinTime{20};

// The pool in one of whose chunks this thread is, if any.
thread_local const ThreadPool* chunk_of = nullptr;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits for `done()` without sleeping, for kSpinTime at most. Returns whether it came true.
template <typename Done>
bool Spin(Done done) {
  if (done()) return true;
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 16; ++i) {
      Pause();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(threads), spin_(threads <= AvailableCores()) {
  if (threads < 1) Fail("a thread pool needs at least 1 thread, not {}", threads);
  workers_.reserve(static_cast<size_t>(threads - 1));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { WorkerLoop(i); });
  } catch (const std::exception& e) {
    Stop();
    Fail(ErrorCode::kResourceExhausted, "cannot start thread {} of the {} of a pool: {}",
         workers_.size() + 2, threads, e.what());
  }
}

ThreadPool::~ThreadPool() {
  Stop();
  while (RunTask()) {
  }
}

void ThreadPool::Stop() {
  stop_.store(true);
  Notify();
  for (std::thread& worker : workers_) worker.join();
}

int64_t ThreadPool::ChunkSize(int64_t count, int64_t grain) const {
  if (count < 0) Fail("a parallel loop needs a count of at least 0, not {}", count);
  if (grain < 1) Fail("a parallel loop needs a grain of at least 1, not {}", grain);
  if (threads_ == 1 || count <= grain) return std::max<int64_t>(count, 1);
  const int64_t parts = threads_ * kChunksPerThread;
  const int64_t share = (count - 1) / parts + 1;
  const int64_t grains = (share - 1) / grain + 1;
  // Where the product would overflow, `count` is the smaller one anyway.
  return grains > count / grain ? count : grains * grain;
}

void ThreadPool::ParallelFor(int64_t count, int64_t grain,
                             FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t chunk_size = ChunkSize(count, grain);
  const bool split = count > chunk_size && chunk_of != this;
  const int index = split ? ClaimJob() : -1;
  if (index < 0) {
    for (int64_t begin = 0; begin < count; begin += std::min(chunk_size, count - begin)) {
      body(begin, begin + std::min(chunk_size, count - begin));
    }
    return;
  }

  Job& job = jobs_[static_cast<size_t>(index)];
  job.body = &body;
  job.count = count;
  job.chunk_size = chunk_size;
  job.chunks = (count - 1) / chunk_size + 1;
  job.next_chunk.store(0, std::memory_order_relaxed);
  job.failed.store(false, std::memory_order_relaxed);
  open_jobs_.fetch_or(1u << index);
  Wake(std::min<int64_t>(job.chunks, threads_) - 1);
  RunChunks(index);
  WaitForWorkers(job);
  const std::exception_ptr error = std::exchange(job.error, nullptr);
  claimed_jobs_.fetch_and(~(1u << index), std::memory_order_release);
  if (error != nullptr) std::rethrow_exception(error);
}

// Returns -1 if all jobs have owners.
int ThreadPool::ClaimJob() {
  uint32_t claimed = claimed_jobs_.load(std::memory_order_relaxed);
  while (true) {
    const int free = std::countr_one(claimed);
    if (free >= kJobs) return -1;
    if (claimed_jobs_.compare_exchange_weak(claimed, claimed | (1u << free),
                                            std::memory_order_acquire)) {
      return free;
    }
  }
}

// Takes chunks until there are none. Chunks are taken in order, so all before one that fails have
// been taken when it fails: which error is the first does not depend on timing.
void ThreadPool::RunChunks(int job_index) {
  Job& job = jobs_[static_cast<size_t>(job_index)];
  const ThreadPool* outer = std::exchange(chunk_of, this);
  while (!job.failed.load(std::memory_order_relaxed)) {
    const int64_t chunk = job.next_chunk.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= job.chunks) break;
    if (chunk == job.chunks - 1) open_jobs_.fetch_and(~(1u << job_index));
    const int64_t begin = chunk * job.chunk_size;
    try {
      (*job.body)(begin, begin + std::min(job.chunk_size, job.count - begin));
    } catch (...) {
      std::lock_guard lock(job.mutex);
      if (job.error == nullptr || chunk < job.error_chunk) {
        job.error = std::current_exception();
        job.error_chunk = chunk;
      }
      job.failed.store(true, std::memory_order_relaxed);
      open_jobs_.fetch_and(~(1u << job_index));
    }
  }
  chunk_of = outer;
}

void ThreadPool::WaitForWorkers(Job& job) {
  const auto left = [&job] { return job.workers.load() == 0; };
  if (spin_ ? Spin(left) : left()) return;
  std::unique_lock lock(job.mutex);
  job.owner_sleeps.store(true);
  job.left.wait(lock, left);
  job.owner_sleeps.store(false);
}

// Takes part in one open job, if there is any. Threads with different numbers begin their search
// at different jobs.
bool ThreadPool::HelpSomeJob(int thread) {
  const uint32_t open = open_jobs_.load();
  if (open == 0) return false;
  for (int i = 0; i < kJobs; ++i) {
    const int index = (thread + i) % kJobs;
    const uint32_t bit = 1u << index;
    if ((open & bit) == 0) continue;
    Job& job = jobs_[static_cast<size_t>(index)];
    job.workers.fetch_add(1);
    const bool joined = (open_jobs_.load() & bit) != 0;
    if (joined) RunChunks(index);
    if (job.workers.fetch_sub(1) == 1 && job.owner_sleeps.load()) {
      std::lock_guard lock(job.mutex);
      job.left.notify_all();
    }
    if (joined) return true;
  }
  return false;
}

void ThreadPool::WorkerLoop(int thread) {
  while (true) {
    const uint32_t seen = epoch_.load();
    if (HelpSomeJob(thread) || RunTask()) continue;
    if (stop_.load()) return;
    WaitForWork(seen);
  }
}

// Returns when work has come since epoch_ was `seen`.
void ThreadPool::WaitForWork(uint32_t seen) {
  const auto arrived = [&] { return epoch_.load() != seen; };
  if (spin_ ? Spin(arrived) : arrived()) return;
  std::unique_lock lock(sleep_mutex_);
  sleepers_.fetch_add(1);
  work_arrived_.wait(lock, arrived);
  sleepers_.fetch_sub(1);
}

// Makes `count` sleepers, or all if there are fewer, look for work; those awake look by themselves.
void ThreadPool::Wake(int64_t count) {
  epoch_.fetch_add(1);
  const int sleepers = sleepers_.load();
  if (sleepers == 0) return;
  // A sleeper between its look at epoch_ and its sleep holds the mutex.
  { std::lock_guard lock(sleep_mutex_); }
  if (count >= sleepers) {
    work_arrived_.notify_all();
  } else {
    for (int64_t i = 0; i < count; ++i) work_arrived_.notify_one();
  }
}

void ThreadPool::Notify() { Wake(INT64_MAX); }

void ThreadPool::Submit(Task* task) {
  task->next = nullptr;
  {
    std::lock_guard lock(tasks_mutex_);
    (last_task_ == nullptr ? first_task_ : last_task_->next) = task;
    last_task_ = task;
    queued_tasks_.fetch_add(1, std::memory_order_relaxed);
  }
  Wake(1);
}

bool ThreadPool::RunTask() {
  // Whoever brought the task has advanced epoch_ after counting it, so a thread that has seen that
  // epoch sees the count.
  if (queued_tasks_.load(std::memory_order_relaxed) == 0) return false;
  Task* task;
  {
    std::lock_guard lock(tasks_mutex_);
    task = first_task_;
    if (task == nullptr) return false;
    first_task_ = task->next;
    if (first_task_ == nullptr) last_task_ = nullptr;
    queued_tasks_.fetch_sub(1, std::memory_order_relaxed);
  }
  task->run(task);
  return true;
}

void ThreadPool::RunTasksUntil(FunctionRef<bool()> done) {
  while (true) {
    const uint32_t seen = epoch_.load();
    if (done()) break;
    if (HelpSomeJob(0) || RunTask()) continue;
    WaitForWork(seen);
  }
  // The wake-up that brought us here may have been meant for a task that nobody else knows of.
  if (queued_tasks_.load(std::memory_order_relaxed) > 0) Wake(1);
}

}  // namespace catamaran

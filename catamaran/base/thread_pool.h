// base/thread_pool.h
//
// ThreadPool runs the library's work on a fixed number of threads: ParallelFor splits a loop,
// Submit queues tasks. Neither allocates memory. A pool belongs to whoever made it; there is no
// global one.
//
// Thread safety: all methods but the destructor may be called concurrently, also from inside
// chunks and tasks.

#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "catamaran/base/function_ref.h"

namespace catamaran {

// What Submit queues; embed it in, or derive from it, the object that holds the work.
struct Task {
  // Called once on some thread. Must not throw. The pool does not touch the task afterwards, so
  // `run` may destroy it or submit it again.
  void (*run)(Task*) = nullptr;
  Task* next = nullptr;  // the pool's, while the task is queued
};

class ThreadPool {
 public:
  // `threads` counts the caller of ParallelFor: a pool of 1 has no thread of its own.
  explicit ThreadPool(int threads);

  // Runs the tasks that are still queued, then ends the threads.
  // REQUIRES: no other call is in progress.
  ~ThreadPool();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls `body(begin, end)` for consecutive chunks that cover [0, count), on several threads, the
  // caller among them, and returns when all have returned. Every chunk but the last has
  // ChunkSize(count, grain) elements, a multiple of `grain`: choose `grain` so that a chunk of that
  // size is worth a few microseconds. A call from inside a chunk of this pool runs the same
  // chunks, in order, on the calling thread.
  //
  // If chunks throw, what the first of them in order threw is rethrown here; chunks after it may
  // not have been run.
  void ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

  // Depends on nothing but the arguments and the number of threads. At least 1.
  int64_t ChunkSize(int64_t count, int64_t grain) const;

  // Queues `task`, first in, first out. The pool's own threads run it when no ParallelFor needs
  // them; in a pool of 1, tasks wait for RunTask or RunTasksUntil.
  void Submit(Task* task);

  // Runs one queued task, of whichever caller, on this thread. Returns false if there was none.
  bool RunTask();

  // Runs queued tasks on this thread until `done()`, and sleeps when there are none. Whoever makes
  // `done()` true calls Notify() after that.
  void RunTasksUntil(FunctionRef<bool()> done);
  void Notify();

 private:
  // A ParallelFor in progress. Jobs live in the pool, not on the caller's stack, so that a worker
  // that comes too late looks at a closed job and not at freed memory.
  struct alignas(64) Job {
    // Written before the job is opened.
    const FunctionRef<void(int64_t, int64_t)>* body = nullptr;
    int64_t count = 0;
    int64_t chunk_size = 0;
    int64_t chunks = 0;

    alignas(64) std::atomic<int64_t> next_chunk = 0;
    std::atomic<bool> failed = false;
    std::mutex mutex;  // guards what follows; `left` is signalled when `workers` falls to 0
    std::condition_variable left;
    int64_t error_chunk = 0;
    std::exception_ptr error;

    alignas(64) std::atomic<int> workers = 0;  // those that are looking at this job
    std::atomic<bool> owner_sleeps = false;
  };
  static constexpr int kJobs = 16;  // more ParallelFors at once than this run on their callers

  void Stop();
  void WorkerLoop(int thread);
  int ClaimJob();
  bool HelpSomeJob(int thread);
  void RunChunks(int job_index);
  void WaitForWorkers(Job& job);
  void Wake(int64_t count);
  void WaitForWork(uint32_t seen);

  const int threads_;
  const bool spin_;  // whether each thread has a core, so that waiting on one is no waste
  std::array<Job, kJobs> jobs_;
  alignas(64) std::atomic<uint32_t> claimed_jobs_ = 0;  // bit i: jobs_[i] has an owner
  std::atomic<uint32_t> open_jobs_ = 0;                 // bit i: jobs_[i] has chunks left

  alignas(64) std::atomic<uint32_t> epoch_ = 0;  // counts arrivals of work
  std::atomic<int> sleepers_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex sleep_mutex_;
  std::condition_variable work_arrived_;

  alignas(64) std::atomic<int64_t> queued_tasks_ = 0;
  std::mutex tasks_mutex_;
  Task* first_task_ = nullptr;
  Task* last_task_ = nullptr;

  std::vector<std::thread> workers_;
};

}  // namespace catamaran

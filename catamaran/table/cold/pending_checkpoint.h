// table/cold/pending_checkpoint.h
//
// The checkpoint of a cut. It is made right after the cut, by a thread of its own, whenever the
// saver may come for it: until it is made the store must not change, and that should be short.
//
// Thread safety: Start and Drop are the writer's, between two steps; running may be asked by
// anybody; MoveTo by one thread while a cut is in progress.

#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <string>

#include "catamaran/base/thread_pool.h"
#include "catamaran/table/cold/disk_store.h"

namespace catamaran {

class PendingCheckpoint {
 public:
  // `directory` is made and removed as needed.
  explicit PendingCheckpoint(std::string directory);
  ~PendingCheckpoint();

  // The store must live, and not be written to, while running().
  void Start(DiskStore& store);
  bool running() const { return running_.load(std::memory_order_acquire); }

  // Waits until it is made and makes it `directory`; throws what went wrong. Once.
  void MoveTo(const std::string& directory);

  // Waits until it is made, and forgets it if nobody took it.
  void Drop();

 private:
  struct Job : Task {
    PendingCheckpoint* owner = nullptr;
  };
  static void Run(Task* task);

  const std::string directory_;
  Job job_;
  DiskStore* store_ = nullptr;
  std::exception_ptr error_;
  std::atomic<bool> running_ = false;
  bool taken_ = true;
  ThreadPool thread_{2};  // one of its own
};

}  // namespace catamaran

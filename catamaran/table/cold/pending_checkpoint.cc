#include "catamaran/table/cold/pending_checkpoint.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/table/cold/store_files.h"

namespace catamaran {

PendingCheckpoint::PendingCheckpoint(std::string directory) : directory_(std::move(directory)) {
  job_.run = &PendingCheckpoint::Run;
  job_.owner = this;
}

PendingCheckpoint::~PendingCheckpoint() { Drop(); }

void PendingCheckpoint::Run(Task* task) {
  PendingCheckpoint& self = *static_cast<Job*>(task)->owner;
  try {
    self.store_->SaveCheckpoint(self.directory_);
  } catch (...) {
    self.error_ = std::current_exception();
  }
  self.running_.store(false, std::memory_order_release);
  self.running_.notify_all();
}

void PendingCheckpoint::Start(DiskStore& store) {
  Drop();
  RemoveDirectoryQuietly(directory_);
  store_ = &store;
  error_ = nullptr;
  taken_ = false;
  running_.store(true, std::memory_order_relaxed);
  thread_.Submit(&job_);
}

void PendingCheckpoint::MoveTo(const std::string& directory) {
  running_.wait(true, std::memory_order_acquire);
  if (taken_)
    Fail(ErrorCode::kInternal,
         "rows on disk: there is nothing to save to {}: no cut is in progress", directory);
  taken_ = true;
  if (error_) std::rethrow_exception(error_);
  if (std::rename(directory_.c_str(), directory.c_str()) == 0) return;
  if (errno != EXDEV) {
    Fail(ErrorCode::kStorage, "rows on disk: moving {} to {}: {}", directory_, directory,
         std::strerror(errno));
  }
  // The commits are on another file system.
  MakeEmptyDirectory(directory);
  CloneStoreFiles(directory_, directory);
  SyncStoreFiles(directory);
  RemoveDirectoryQuietly(directory_);
}

void PendingCheckpoint::Drop() {
  running_.wait(true, std::memory_order_acquire);
  taken_ = true;
  RemoveDirectoryQuietly(directory_);
}

}  // namespace catamaran

// table/cold/announced_keys.h
//
// Keys that will be asked for soon: threads of a pool read the records of those that are not in
// memory, so that they lie in the memory of the store (row_cache.h) when they are asked for.
//
// It is a hint, and stays one: what does not fit into the list of keys that wait is forgotten, what
// cannot be read is left to whoever asks for it, and a few of the threads work here at a time, in
// slices, between what else the pool has to do.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "catamaran/base/thread_pool.h"
#include "catamaran/table/cold/cold_pull.h"
#include "catamaran/table/cold/hot_rows.h"

namespace catamaran {

class AnnouncedKeys {
 public:
  static constexpr size_t kMaxWaiting = size_t{1} << 18;

  // As many as `at_once` threads of `pool` read at a time. REQUIRES: this outlives the pool, which
  // need not be made yet; `hot` outlives this.
  AnnouncedKeys(const HotRows& hot, ThreadPool& pool, int at_once);

  // Takes some time to copy them, and waits for nothing else. Those that are too many are left out.
  // REQUIRES: `source` is good until Stop.
  void Add(const ColdPullSource& source, std::span<const uint64_t> keys);
  // Nothing is read any more, but for what is being read.
  void Stop();

  size_t waiting() const;
  // Nothing waits, and nothing is being read.
  bool idle() const;

 private:
  static constexpr size_t kSlice = 128;  // keys

  struct Worker : Task {
    AnnouncedKeys* of = nullptr;
    bool working = false;  // guarded by mutex_
    // Scratch of the thread that works.
    std::vector<uint64_t> keys;
    std::vector<uint64_t> places;
    std::vector<uint32_t> missing;
    std::vector<float> rows;
  };

  static void Work(Task* task);
  // Moves a slice of what waits to `keys`. False if nothing waits; then the worker is free.
  bool TakeSlice(Worker& worker);
  void Read(Worker& worker) const;

  const HotRows& hot_;
  ThreadPool& pool_;
  std::vector<Worker> workers_;

  mutable std::mutex mutex_;  // guards what follows
  ColdPullSource source_{};
  std::vector<uint64_t> waiting_;
  size_t taken_ = 0;  // of those
  bool stopped_ = false;
};

}  // namespace catamaran

// table/cold/cold_pull.h
//
// The part of a Pull that waits for the disk: keys that had no record in memory are looked up in
// the store by threads of a pool, which share them, so that one large Pull does not wait for
// one thread and several Pulls go on side by side. No lock is held while a disk is read.
//
// Thread safety: StartColdPull may be called by any number of threads at once.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catamaran/base/thread_pool.h"
#include "catamaran/table/cold/disk_store.h"
#include "catamaran/table/cold/removed_keys.h"
#include "catamaran/table/row_rules.h"
#include "catamaran/table/table.h"

namespace catamaran {

// What it reads from; all of it outlives the pull.
struct ColdPullSource {
  const RowRules* rules;
  const DiskStore* store;
  const RemovedKeys* removed;
};

// For the keys at the positions `missing`: those whose record the store has in memory are written
// to `out`, and leave `missing`.
void PullFromMemoryOfStore(const ColdPullSource& source, std::span<const uint64_t> keys,
                           std::span<float> out, std::vector<uint32_t>& missing);

// For the keys at the positions `missing`: writes the row to `out` if the store has one; else what
// stands there stays. Then calls `done`, from a thread of `pool`, with the first error if any.
// REQUIRES: `missing` is not empty; keys and out outlive `done`.
void StartColdPull(const ColdPullSource& source, ThreadPool& pool, std::span<const uint64_t> keys,
                   std::span<const uint32_t> missing, std::span<float> out, Done done);

}  // namespace catamaran

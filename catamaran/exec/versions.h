// exec/versions.h
//
// Published versions of a State's dense values. A version is immutable while anybody can see it;
// one writer publishes, any number of readers take the newest without a lock. There are at most
// `cap` versions: when all are in use the publication is skipped and counted, the writer never
// waits. A value that did not change since the last publication is shared between versions, not
// copied; in the steady state publishing allocates nothing.
//
// Thread safety: Pin and Unpin from any thread; the rest by one thread at a time (the holder of
// the State's turn to write).

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catamaran/base/memory.h"

namespace catamaran {

class Version {
 public:
  int64_t step() const { return step_; }       // committed steps that it holds
  uint64_t number() const { return number_; }  // of the publication, from 1
  // The bytes of value i. REQUIRES: the value is versioned.
  const std::byte* data(size_t i) const { return pointers_[i]; }

 private:
  friend class VersionPool;
  std::atomic<int64_t> pins_ = 0;
  int64_t step_ = 0;
  uint64_t number_ = 0;
  std::vector<BufferRef> buffers_;
  std::vector<const std::byte*> pointers_;
};

// What the writer hands over: one for each value of the State.
struct Publishable {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  bool versioned = true;
  bool changed = false;  // since the last publication
};

class VersionPool {
 public:
  // REQUIRES: cap >= 2.
  explicit VersionPool(int cap);
  VersionPool(const VersionPool&) = delete;
  VersionPool& operator=(const VersionPool&) = delete;

  // The newest version, held until Unpin; null when nothing was published yet.
  const Version* Pin();
  void Unpin(const Version* version);

  bool published() const { return current_.load(std::memory_order_seq_cst) != nullptr; }

  // Makes the values the newest version. Returns false, and counts, when all versions are in use.
  bool Publish(std::span<const Publishable> values, int64_t step);

  // A publication that its caller had to give up.
  void CountSkipped() { skipped_.fetch_add(1, std::memory_order_relaxed); }

  uint64_t publications() const { return publications_.load(std::memory_order_relaxed); }
  uint64_t skipped() const { return skipped_.load(std::memory_order_relaxed); }
  uint64_t bytes_copied() const { return bytes_copied_.load(std::memory_order_relaxed); }
  int cap() const { return static_cast<int>(versions_.size()); }

 private:
  Version* FindFree();
  BufferRef FreeBuffer(size_t i, size_t bytes);

  std::vector<std::unique_ptr<Version>> versions_;
  std::vector<std::vector<BufferRef>> buffers_;  // by value: all that were ever made for it
  std::atomic<Version*> current_ = nullptr;
  std::atomic<uint64_t> publications_ = 0;
  std::atomic<uint64_t> skipped_ = 0;
  std::atomic<uint64_t> bytes_copied_ = 0;
};

}  // namespace catamaran

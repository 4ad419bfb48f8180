// base/memory.h
//
// Where memory comes from: an Allocator hands out blocks, CachingAllocator keeps freed blocks for
// the next request so that a steady state asks the system for nothing. BufferRef counts the users
// of one block.
//
// Thread safety: all methods of all allocators may be called concurrently. A block may be freed on
// another thread than the one that allocated it.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace catamaran {

// Blocks are aligned to this: a cache line, and the widest vector register.
inline constexpr size_t kMemoryAlignment = 64;

class Allocator {
 public:
  virtual ~Allocator() = default;

  // Never null, also for zero bytes. Throws Error if there is no memory. The contents are not set.
  virtual void* Allocate(size_t bytes) = 0;

  // REQUIRES: `block` came from Allocate(bytes) of this allocator. Null is allowed.
  virtual void Free(void* block, size_t bytes) noexcept = 0;
};

// The operating system's memory. Stateless and shared.
Allocator& SystemAllocator();

// Rounds requests up to size classes (powers of two and three steps between them, so at most a
// quarter more than was asked for; 64 bytes at least) and keeps a free list per class.
class CachingAllocator final : public Allocator {
 public:
  struct Stats {
    uint64_t bytes_in_use = 0;        // handed out, rounded up to size classes
    uint64_t bytes_cached = 0;        // freed and kept
    uint64_t system_allocations = 0;  // how often `upstream` was asked, ever
  };

  // A freed block that would bring the cache over `max_cached_bytes` goes back to `upstream`,
  // which must outlive this and hand out memory that the CPU can write.
  explicit CachingAllocator(Allocator& upstream = SystemAllocator(),
                            uint64_t max_cached_bytes = UINT64_MAX);

  // REQUIRES: all blocks have been freed.
  ~CachingAllocator() override;

  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  void* Allocate(size_t bytes) override;
  void Free(void* block, size_t bytes) noexcept override;

  // Gives all cached blocks back to `upstream`.
  void Trim() noexcept;

  // Each figure is exact when no other thread allocates or frees at the same time.
  Stats stats() const;

  // The size of the block that a request of `bytes` gets.
  static size_t RoundUp(size_t bytes);

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  // One lock per class: threads that use different sizes do not meet.
  struct alignas(kMemoryAlignment) FreeList {
    std::mutex mutex;
    FreeBlock* head = nullptr;
  };
  static constexpr int kClasses = 192;

  static int ClassOf(size_t bytes);
  static size_t ClassSize(int index);

  Allocator& upstream_;
  const uint64_t max_cached_bytes_;
  std::array<FreeList, kClasses> lists_;
  alignas(kMemoryAlignment) std::atomic<uint64_t> bytes_in_use_ = 0;
  std::atomic<uint64_t> bytes_cached_ = 0;
  std::atomic<uint64_t> system_allocations_ = 0;
};

// A counted reference to a block of memory. Copying it is one atomic increment; the last one to go
// frees the block. The block does not move and its size does not change.
//
// Thread safety: as for std::shared_ptr. Different BufferRefs to one block may be copied and
// destroyed on different threads; who may write the bytes is for the users to agree on.
class BufferRef {
 public:
  // Called once, by whichever thread drops the last reference. Must not throw.
  using Release = void (*)(void* context);

  // Refers to nothing: data() is null and size() is 0.
  BufferRef() = default;

  // A new block of `bytes`, aligned to kMemoryAlignment, contents not set. It is one allocation,
  // with the count in front of the bytes; `allocator` must outlive the block.
  static BufferRef Allocate(size_t bytes, Allocator& allocator = SystemAllocator());

  // Memory that belongs to somebody else, of any kind (a caller's array, a mapped file, a device):
  // the last reference calls `release(context)`, if it is not null. The count is kept in memory
  // of `allocator`.
  static BufferRef Wrap(void* data, size_t bytes, Release release, void* context,
                        Allocator& allocator = SystemAllocator());

  BufferRef(const BufferRef& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  BufferRef(BufferRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BufferRef() {
    if (block_ != nullptr) Drop(block_);
  }

  std::byte* data() const { return block_ == nullptr ? nullptr : block_->data; }
  size_t size() const { return block_ == nullptr ? 0 : block_->size; }
  explicit operator bool() const { return block_ != nullptr; }

  // How many references there are, 0 for none. One that is 1 stays 1 while only the caller has it,
  // and then all that former holders did to the bytes has happened before.
  int use_count() const {
    return block_ == nullptr ? 0 : block_->references.load(std::memory_order_acquire);
  }

  // Whether both refer to the same block.
  friend bool operator==(const BufferRef& a, const BufferRef& b) { return a.block_ == b.block_; }

 private:
  struct alignas(kMemoryAlignment) Block {
    std::atomic<int> references;
    std::byte* data;
    size_t size;
    Allocator* allocator;  // of this struct and, unless foreign, of the bytes that follow it
    size_t allocated;
    Release release;
    void* context;
  };

  explicit BufferRef(Block* block) : block_(block) {}

  static void Drop(Block* block) noexcept {
    if (block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy(block);
  }
  static void Destroy(Block* block) noexcept;

  Block* block_ = nullptr;
};

}  // namespace catamaran

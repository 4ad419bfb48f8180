#include "catamaran/base/memory.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <bit>
#include <cstdlib>
#include <new>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// More than any machine has, and small enough that sums of sizes do not overflow.
constexpr size_t kLargestBlock = size_t{1} << 50;

// Blocks of this size and more begin at a huge page and ask for them: with small ones a pass over
// a large parameter spends a third of its time on page tables.
constexpr size_t kLargeBlock = size_t{8} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

[[noreturn]] void FailForSize(size_t bytes) {
  Fail(ErrorCode::kResourceExhausted, "cannot allocate {} bytes: out of memory", bytes);
}

void* AllocateLarge(size_t bytes) {
  void* block = nullptr;
  if (posix_memalign(&block, kHugePage, bytes) != 0) return nullptr;
#if defined(__linux__)
  madvise(block, bytes, MADV_HUGEPAGE);  // only a wish: without it memory is as usual
#endif
  return block;
}

class SystemMemory final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    void* block = nullptr;
    if (bytes >= kLargeBlock && bytes <= kLargestBlock) {
      block = AllocateLarge(bytes);
    } else if (bytes <= kLargestBlock) {
      const size_t rounded = (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
      block = std::aligned_alloc(kMemoryAlignment, rounded == 0 ? kMemoryAlignment : rounded);
    }
    if (block == nullptr) FailForSize(bytes);
    return block;
  }

  void Free(void* block, size_t) noexcept override { std::free(block); }
};

}  // namespace

Allocator& SystemAllocator() {
  static SystemMemory memory;
  return memory;
}

CachingAllocator::CachingAllocator(Allocator& upstream, uint64_t max_cached_bytes)
    : upstream_(upstream), max_cached_bytes_(max_cached_bytes) {}

CachingAllocator::~CachingAllocator() { Trim(); }

// In units of 64 bytes the classes are 1 2 3 4, then 5 6 7 8, 10 12 14 16, 20 24 28 32, ...: four
// steps to every power of two.
int CachingAllocator::ClassOf(size_t bytes) {
  const size_t units = (bytes + kMemoryAlignment - 1) / kMemoryAlignment;
  if (units <= 4) return units == 0 ? 0 : static_cast<int>(units) - 1;
  const int width = static_cast<int>(std::bit_width(units - 1));
  const size_t below = size_t{1} << (width - 1);
  const size_t quarter = (units - below - 1) >> (width - 3);
  return 4 * (width - 2) + static_cast<int>(quarter);
}

size_t CachingAllocator::ClassSize(int index) {
  const size_t quarter = static_cast<size_t>(index % 4) + 1;
  if (index < 4) return quarter * kMemoryAlignment;
  return ((size_t{4} + quarter) << (index / 4 - 1)) * kMemoryAlignment;
}

size_t CachingAllocator::RoundUp(size_t bytes) {
  if (bytes > kLargestBlock) FailForSize(bytes);
  return ClassSize(ClassOf(bytes));
}

void* CachingAllocator::Allocate(size_t bytes) {
  const size_t size = RoundUp(bytes);
  FreeList& list = lists_[static_cast<size_t>(ClassOf(bytes))];
  void* block = nullptr;
  {
    std::lock_guard lock(list.mutex);
    if (list.head != nullptr) {
      block = list.head;
      list.head = list.head->next;
    }
  }
  if (block != nullptr) {
    bytes_cached_.fetch_sub(size, std::memory_order_relaxed);
  } else {
    system_allocations_.fetch_add(1, std::memory_order_relaxed);
    try {
      block = upstream_.Allocate(size);
    } catch (const Error&) {
      Trim();
      block = upstream_.Allocate(size);
    }
  }
  bytes_in_use_.fetch_add(size, std::memory_order_relaxed);
  return block;
}

void CachingAllocator::Free(void* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  const int index = ClassOf(bytes);
  const size_t size = ClassSize(index);
  bytes_in_use_.fetch_sub(size, std::memory_order_relaxed);
  const uint64_t cached = bytes_cached_.fetch_add(size, std::memory_order_relaxed);
  if (cached > max_cached_bytes_ || size > max_cached_bytes_ - cached) {
    bytes_cached_.fetch_sub(size, std::memory_order_relaxed);
    upstream_.Free(block, size);
    return;
  }
  FreeList& list = lists_[static_cast<size_t>(index)];
  std::lock_guard lock(list.mutex);
  list.head = new (block) FreeBlock{list.head};
}

void CachingAllocator::Trim() noexcept {
  for (int index = 0; index < kClasses; ++index) {
    FreeList& list = lists_[static_cast<size_t>(index)];
    FreeBlock* head;
    {
      std::lock_guard lock(list.mutex);
      head = std::exchange(list.head, nullptr);
    }
    const size_t size = ClassSize(index);
    while (head != nullptr) {
      FreeBlock* next = head->next;
      bytes_cached_.fetch_sub(size, std::memory_order_relaxed);
      upstream_.Free(head, size);
      head = next;
    }
  }
}

CachingAllocator::Stats CachingAllocator::stats() const {
  return {.bytes_in_use = bytes_in_use_.load(std::memory_order_relaxed),
          .bytes_cached = bytes_cached_.load(std::memory_order_relaxed),
          .system_allocations = system_allocations_.load(std::memory_order_relaxed)};
}

BufferRef BufferRef::Allocate(size_t bytes, Allocator& allocator) {
  if (bytes > kLargestBlock) FailForSize(bytes);
  const size_t allocated = sizeof(Block) + bytes;
  auto* memory = static_cast<std::byte*>(allocator.Allocate(allocated));
  return BufferRef(new (memory) Block{.references = 1,
                                      .data = memory + sizeof(Block),
                                      .size = bytes,
                                      .allocator = &allocator,
                                      .allocated = allocated,
                                      .release = nullptr,
                                      .context = nullptr});
}

BufferRef BufferRef::Wrap(void* data, size_t bytes, Release release, void* context,
                          Allocator& allocator) {
  void* memory = allocator.Allocate(sizeof(Block));
  return BufferRef(new (memory) Block{.references = 1,
                                      .data = static_cast<std::byte*>(data),
                                      .size = bytes,
                                      .allocator = &allocator,
                                      .allocated = sizeof(Block),
                                      .release = release,
                                      .context = context});
}

void BufferRef::Destroy(Block* block) noexcept {
  if (block->release != nullptr) block->release(block->context);
  Allocator* allocator = block->allocator;
  const size_t allocated = block->allocated;
  block->~Block();
  allocator->Free(block, allocated);
}

}  // namespace catamaran

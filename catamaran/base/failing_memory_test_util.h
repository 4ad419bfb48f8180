// base/failing_memory_test_util.h
//
// For tests: memory that runs out at a chosen moment. Whichever way this thread asks for memory
// (new, aligned blocks, pages of a table), the request of a chosen number fails.
//
// It also counts requests. It replaces operator new and some functions of the C library for the
// whole test program, by weak definitions, so that several files may include it. Sanitizers bring
// their own; with them nothing fails or is counted, and tests skip themselves
// (FailingMemory::kPossible).

#pragma once

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace catamaran {

class FailingMemory {
 public:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kPossible = false;
#else
  static constexpr bool kPossible = true;
#endif
  static constexpr int64_t kNever = -1;

  // Request `n` of this thread from now on fails, from 0; it alone, or all that follow too.
  static void FailAt(int64_t n, bool all_after = false) {
    left_ = n;
    all_after_ = all_after;
    failed_ = 0;
  }
  // Nothing fails any more. Returns how many requests did.
  static int64_t Stop() {
    left_ = kNever;
    all_after_ = false;
    return failed_;
  }

  // Requests of all threads, ever.
  static int64_t requests() { return requests_.load(std::memory_order_relaxed); }

  // Whether the request that is being made fails.
  static bool Fails() {
    requests_.fetch_add(1, std::memory_order_relaxed);
    if (left_ == kNever) return false;
    if (left_ > 0) {
      --left_;
      return false;
    }
    if (!all_after_) left_ = kNever;
    ++failed_;
    return true;
  }

 private:
  static inline std::atomic<int64_t> requests_ = 0;
  static inline thread_local int64_t left_ = kNever;
  static inline thread_local bool all_after_ = false;
  static inline thread_local int64_t failed_ = 0;
};

}  // namespace catamaran

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

[[gnu::weak, gnu::noinline]] void* operator new(size_t bytes) {
  if (!catamaran::FailingMemory::Fails()) {
    if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  }
  throw std::bad_alloc();
}
[[gnu::weak, gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  if (!catamaran::FailingMemory::Fails()) {
    if (void* const block = memalign(static_cast<size_t>(alignment), bytes)) return block;
  }
  throw std::bad_alloc();
}
[[gnu::weak, gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::weak, gnu::noinline]] void operator delete(void* block, size_t) noexcept {
  std::free(block);
}
[[gnu::weak, gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
[[gnu::weak, gnu::noinline]] void operator delete(void* block, size_t, std::align_val_t) noexcept {
  std::free(block);
}

extern "C" {
[[gnu::weak, gnu::noinline]] void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return catamaran::FailingMemory::Fails() ? nullptr : memalign(alignment, bytes);
}
[[gnu::weak, gnu::noinline]] int posix_memalign(void** block, size_t alignment,
                                                size_t bytes) noexcept {
  *block = catamaran::FailingMemory::Fails() ? nullptr : memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}
[[gnu::weak, gnu::noinline]] int mprotect(void* address, size_t bytes, int protection) noexcept {
  if (catamaran::FailingMemory::Fails()) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, address, bytes, protection));
}
}

#endif

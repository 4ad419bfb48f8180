// base/failing_memory_test_util.h
//
// For tests: memory that runs out at a chosen moment. Whichever way this thread asks for memory
// (new, aligned blocks, pages of a table), the request of a chosen number fails.
//
// It replaces operator new and some functions of the C library for the whole program: include it in
// one file of a test binary. Sanitizers bring their own; with them nothing ever fails, and tests
// skip themselves (FailingMemory::kPossible).

#pragma once

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace catamaran::testing {

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

  // Whether the request that is being made fails.
  static bool Fails() {
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
  static inline thread_local int64_t left_ = kNever;
  static inline thread_local bool all_after_ = false;
  static inline thread_local int64_t failed_ = 0;
};

}  // namespace catamaran::testing

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void* operator new(size_t bytes) {
  if (!catamaran::testing::FailingMemory::Fails()) {
    if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  }
  throw std::bad_alloc();
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  if (!catamaran::testing::FailingMemory::Fails()) {
    if (void* const block = memalign(static_cast<size_t>(alignment), bytes)) return block;
  }
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { std::free(block); }

extern "C" {
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return catamaran::testing::FailingMemory::Fails() ? nullptr : memalign(alignment, bytes);
}
int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  *block = catamaran::testing::FailingMemory::Fails() ? nullptr : memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}
int mprotect(void* address, size_t bytes, int protection) noexcept {
  if (catamaran::testing::FailingMemory::Fails()) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, address, bytes, protection));
}
}

#endif

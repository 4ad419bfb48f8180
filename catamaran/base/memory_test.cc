#include "catamaran/base/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// Counts what it has handed out, and hands out no more than `limit` bytes.
class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(size_t limit = SIZE_MAX) : limit_(limit) {}

  void* Allocate(size_t bytes) override {
    if (bytes > limit_ - live_) Fail("cannot allocate {} bytes: out of memory", bytes);
    live_ += bytes;
    return SystemAllocator().Allocate(bytes);
  }
  void Free(void* block, size_t bytes) noexcept override {
    live_ -= bytes;
    SystemAllocator().Free(block, bytes);
  }
  size_t live() const { return live_; }

 private:
  const size_t limit_;
  std::atomic<size_t> live_ = 0;
};

bool IsAligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kMemoryAlignment == 0; }

TEST(SystemAllocator, BlocksAreAlignedAndNeverNull) {
  for (const size_t bytes : {0, 1, 63, 64, 65, 1000000}) {
    void* block = SystemAllocator().Allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(IsAligned(block));
    std::memset(block, 1, bytes);
    SystemAllocator().Free(block, bytes);
  }
}

TEST(SystemAllocator, AnImpossibleSizeIsAnError) {
  EXPECT_THROW(SystemAllocator().Allocate(SIZE_MAX), Error);
  EXPECT_THROW(CachingAllocator().Allocate(SIZE_MAX), Error);
  EXPECT_THROW(BufferRef::Allocate(SIZE_MAX), Error);
}

TEST(CachingAllocator, SizeClassesWasteAtMostAQuarter) {
  EXPECT_EQ(CachingAllocator::RoundUp(0), 64u);
  EXPECT_EQ(CachingAllocator::RoundUp(257), 320u);
  EXPECT_EQ(CachingAllocator::RoundUp(513), 640u);
  EXPECT_EQ(CachingAllocator::RoundUp(size_t{1} << 50), size_t{1} << 50);
  for (size_t bytes = 1; bytes < 100000; ++bytes) {
    const size_t rounded = CachingAllocator::RoundUp(bytes);
    ASSERT_GE(rounded, bytes);
    ASSERT_LE(rounded, std::max<size_t>((bytes + 63) / 64 * 64 * 5 / 4, 64)) << bytes;
    ASSERT_EQ(rounded % kMemoryAlignment, 0u);
    ASSERT_EQ(CachingAllocator::RoundUp(rounded), rounded);
  }
}

TEST(CachingAllocator, ASteadyStateAsksTheSystemForNothing) {
  CachingAllocator allocator;
  const auto step = [&] {
    void* a = allocator.Allocate(1000);
    void* b = allocator.Allocate(5000);
    allocator.Free(a, 1000);
    allocator.Free(b, 5000);
  };
  step();
  EXPECT_EQ(allocator.stats().system_allocations, 2u);
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(allocator.stats().system_allocations, 2u);
}

TEST(CachingAllocator, StatsFollowBlocksAndTrimGivesThemBack) {
  CountingAllocator upstream;
  CachingAllocator allocator(upstream);
  void* a = allocator.Allocate(1024);
  void* b = allocator.Allocate(2048);
  EXPECT_EQ(allocator.stats().bytes_in_use, 3072u);
  allocator.Free(a, 1024);
  EXPECT_EQ(allocator.stats().bytes_in_use, 2048u);
  EXPECT_EQ(allocator.stats().bytes_cached, 1024u);
  allocator.Trim();
  EXPECT_EQ(allocator.stats().bytes_cached, 0u);
  EXPECT_EQ(upstream.live(), 2048u);
  allocator.Free(b, 2048);
}

TEST(CachingAllocator, TheCacheStaysUnderItsLimit) {
  CountingAllocator upstream;
  CachingAllocator allocator(upstream, 1500);
  void* a = allocator.Allocate(1024);
  void* b = allocator.Allocate(1024);
  allocator.Free(a, 1024);
  allocator.Free(b, 1024);
  EXPECT_EQ(allocator.stats().bytes_cached, 1024u);
  EXPECT_EQ(upstream.live(), 1024u);
}

TEST(CachingAllocator, MemoryInTheWrongClassIsGivenBackBeforeGivingUp) {
  CountingAllocator upstream(4096);
  CachingAllocator allocator(upstream);
  allocator.Free(allocator.Allocate(3072), 3072);
  void* block = allocator.Allocate(2048);
  EXPECT_EQ(allocator.stats().bytes_cached, 0u);
  allocator.Free(block, 2048);
}

TEST(CachingAllocator, ThreadsMayAllocateAndFreeAtOnce) {
  CachingAllocator allocator;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator, t] {
      for (size_t i = 0; i < 2000; ++i) {
        const size_t bytes = 64 * (1 + i % 7);
        auto* block = static_cast<unsigned char*>(allocator.Allocate(bytes));
        std::memset(block, t, bytes);
        for (size_t j = 0; j < bytes; ++j) ASSERT_EQ(block[j], t);
        allocator.Free(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.stats().bytes_in_use, 0u);
}

TEST(BufferRef, ACopySharesTheBlockAndTheLastOneFreesIt) {
  CountingAllocator allocator;
  BufferRef a = BufferRef::Allocate(100, allocator);
  EXPECT_TRUE(IsAligned(a.data()));
  EXPECT_EQ(a.size(), 100u);
  EXPECT_EQ(a.use_count(), 1);
  BufferRef b = a;
  EXPECT_EQ(a.use_count(), 2);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.data(), b.data());
  BufferRef c = std::move(a);
  EXPECT_FALSE(a);  // NOLINT: a moved-from reference refers to nothing
  EXPECT_EQ(c.use_count(), 2);
  b = BufferRef();
  EXPECT_EQ(c.use_count(), 1);
  EXPECT_GT(allocator.live(), 0u);
  c = BufferRef();
  EXPECT_EQ(allocator.live(), 0u);
}

TEST(BufferRef, AnEmptyReferenceHasNoBytes) {
  const BufferRef none;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.use_count(), 0);
}

TEST(BufferRef, AssigningAReferenceToItselfKeepsTheBlock) {
  BufferRef a = BufferRef::Allocate(8);
  const BufferRef& same = a;
  a = same;
  EXPECT_EQ(a.use_count(), 1);
}

TEST(BufferRef, ForeignMemoryIsReleasedOnce) {
  int released = 0;
  float values[4] = {};
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  BufferRef a = BufferRef::Wrap(values, sizeof(values), release, &released);
  EXPECT_EQ(a.data(), reinterpret_cast<std::byte*>(values));
  BufferRef b = a;
  a = BufferRef();
  EXPECT_EQ(released, 0);
  b = BufferRef();
  EXPECT_EQ(released, 1);
}

TEST(BufferRef, ReferencesMayBeCopiedAndDroppedOnSeveralThreads) {
  CachingAllocator allocator;
  {
    const BufferRef shared = BufferRef::Allocate(64, allocator);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([copy = shared] {
        for (int i = 0; i < 10000; ++i) const BufferRef another = copy;
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    EXPECT_EQ(shared.use_count(), 1);
  }
  EXPECT_EQ(allocator.stats().bytes_in_use, 0u);
}

}  // namespace
}  // namespace catamaran

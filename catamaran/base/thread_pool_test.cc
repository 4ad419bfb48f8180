#include "catamaran/base/thread_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>

#include "catamaran/base/error.h"

namespace {
std::atomic<int64_t> allocations = 0;
}  // namespace

// Counts every allocation of this test program. Inlined, the pairs would look mismatched.
[[gnu::noinline]] void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace catamaran {
namespace {

using Chunks = std::set<std::pair<int64_t, int64_t>>;

Chunks ChunksOf(ThreadPool& pool, int64_t count, int64_t grain) {
  std::mutex mutex;
  Chunks chunks;
  pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    chunks.emplace(begin, end);
  });
  return chunks;
}

TEST(ThreadPool, EveryIndexIsVisitedOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 2, 7, 64, 1000, 4099}) {
      for (const int64_t grain : {1, 3, 64, 5000}) {
        std::vector<int> visits(static_cast<size_t>(count));
        pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        for (const int visit : visits) ASSERT_EQ(visit, 1);
      }
    }
  }
}

TEST(ThreadPool, ChunksDependOnCountGrainAndThreadsOnly) {
  ThreadPool a(4), b(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_EQ(ChunksOf(a, 1000, 16), ChunksOf(b, 1000, 16));
  }
  for (const auto& [begin, end] : ChunksOf(a, 1000, 16)) {
    EXPECT_EQ(begin % 16, 0);
    EXPECT_TRUE(end - begin == a.ChunkSize(1000, 16) || end == 1000);
  }
}

TEST(ThreadPool, HugeCountsDoNotOverflow) {
  ThreadPool pool(2);
  EXPECT_EQ(pool.ChunkSize(INT64_MAX, INT64_MAX - 1), INT64_MAX - 1);
  EXPECT_EQ(pool.ChunkSize(INT64_MAX, INT64_MAX / 2 + 1), INT64_MAX / 2 + 1);
  EXPECT_EQ(pool.ChunkSize(INT64_MAX, INT64_MAX), INT64_MAX);
  EXPECT_EQ(ChunksOf(pool, INT64_MAX, 1).size(), 8u);
}

TEST(ThreadPool, BadArgumentsAreErrors) {
  EXPECT_THROW(ThreadPool(0), Error);
  ThreadPool pool(2);
  EXPECT_THROW(pool.ParallelFor(-1, 1, [](int64_t, int64_t) {}), Error);
  EXPECT_THROW(pool.ParallelFor(1, 0, [](int64_t, int64_t) {}), Error);
}

TEST(ThreadPool, TheFirstFailingChunkInOrderIsReported) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    try {
      pool.ParallelFor(64, 1, [](int64_t begin, int64_t) {
        if (begin >= 20) throw std::runtime_error(std::to_string(begin));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "20");  // chunks have 4 elements
    }
  }
  EXPECT_EQ(ChunksOf(pool, 64, 1).size(), 16u);  // the pool still works
}

TEST(ThreadPool, NestedLoopsRunInOrderOnTheirThread) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum = 0;
  pool.ParallelFor(16, 1, [&](int64_t, int64_t) {
    const auto self = std::this_thread::get_id();
    int64_t expected = 0;
    pool.ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_EQ(begin, expected);
      expected = end;
      sum += end - begin;
    });
    EXPECT_EQ(expected, 100);
  });
  EXPECT_EQ(sum, 1600);
}

TEST(ThreadPool, ManyThreadsMayCallAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 20; ++caller) {  // more than there are places for jobs
    callers.emplace_back([&pool] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        std::vector<int64_t> values(100, 1);
        pool.ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += i;
        });
        ASSERT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 100 + 4950);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    // Both chunks wait for each other, so one thread alone would never come to an end.
    std::atomic<int> arrived = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pool.ParallelFor(2, 1, [&](int64_t, int64_t) {
      ++arrived;
      while (arrived.load() < 2) std::this_thread::yield();
    });
  }
}

struct CountTask : Task {
  std::atomic<int>* count = nullptr;
};

TEST(ThreadPool, NothingIsAllocated) {
  ThreadPool pool(4);
  std::atomic<int> ran = 0;
  CountTask task;
  task.count = &ran;
  task.run = [](Task* t) { ++*static_cast<CountTask*>(t)->count; };
  std::atomic<int64_t> sum = 0;
  const int64_t before = allocations;
  for (int i = 1; i <= 100; ++i) {
    pool.ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    pool.Submit(&task);
    while (ran.load() < i) std::this_thread::yield();
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(sum, 100000);
}

// A task that submits `left` more of its kind, then says that it is done.
struct Chain : Task {
  ThreadPool* pool = nullptr;
  int left = 0;
  std::atomic<bool> done = false;

  static void Run(Task* task) {
    auto* chain = static_cast<Chain*>(task);
    ThreadPool* pool = chain->pool;
    if (--chain->left > 0) {
      pool->Submit(chain);
    } else {
      chain->done.store(true);  // the chain may be gone from here on
      pool->Notify();
    }
  }
};

TEST(ThreadPool, RunTasksUntilHelpsAndReturns) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      Chain chain;
      chain.run = Chain::Run;
      chain.pool = &pool;
      chain.left = 100;
      pool.Submit(&chain);
      pool.RunTasksUntil([&] { return chain.done.load(); });
    }
  }
}

TEST(ThreadPool, SeveralThreadsMayRunTasksUntilTheirOwnAreDone) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&pool] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        Chain chain;
        chain.run = Chain::Run;
        chain.pool = &pool;
        chain.left = 10;
        pool.Submit(&chain);
        pool.RunTasksUntil([&] { return chain.done.load(); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, TasksOfAPoolWithoutThreadsWaitForRunTask) {
  ThreadPool pool(1);
  std::atomic<int> ran = 0;
  CountTask tasks[3];
  for (CountTask& task : tasks) {
    task.count = &ran;
    task.run = [](Task* t) { ++*static_cast<CountTask*>(t)->count; };
    pool.Submit(&task);
  }
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(pool.RunTask());
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(pool.RunTask());
  EXPECT_TRUE(pool.RunTask());
  EXPECT_FALSE(pool.RunTask());
}

TEST(ThreadPool, QueuedTasksAreRunBeforeThePoolGoes) {
  for (const int threads : {1, 3}) {
    std::atomic<int> ran = 0;
    CountTask tasks[50];
    {
      ThreadPool pool(threads);
      for (CountTask& task : tasks) {
        task.count = &ran;
        task.run = [](Task* t) { ++*static_cast<CountTask*>(t)->count; };
        pool.Submit(&task);
      }
    }
    EXPECT_EQ(ran, 50);
  }
}

TEST(ThreadPool, ATaskMayRunAParallelLoop) {
  struct LoopTask : Task {
    ThreadPool* pool;
    std::atomic<int64_t> sum = 0;
    std::atomic<bool> done = false;
  };
  ThreadPool pool(3);
  LoopTask task;
  task.pool = &pool;
  task.run = [](Task* t) {
    auto* self = static_cast<LoopTask*>(t);
    ThreadPool* my_pool = self->pool;
    my_pool->ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { self->sum += end - begin; });
    self->done.store(true);
    my_pool->Notify();
  };
  pool.Submit(&task);
  pool.RunTasksUntil([&] { return task.done.load(); });
  EXPECT_EQ(task.sum, 1000);
}

}  // namespace
}  // namespace catamaran

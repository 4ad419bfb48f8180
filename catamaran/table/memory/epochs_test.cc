#include "catamaran/table/memory/epochs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace catamaran {
namespace {

TEST(Epochs, WhatIsRetiredWaitsForGuardsThatBeganBeforeAndForNoOthers) {
  Epochs epochs;
  EXPECT_TRUE(epochs.Passed(epochs.Retire()));
  std::optional<Epochs::Guard> before(std::in_place, epochs);
  const Epochs::Stamp stamp = epochs.Retire();
  EXPECT_FALSE(epochs.Passed(stamp));
  const Epochs::Guard after(epochs);
  EXPECT_FALSE(epochs.Passed(stamp));
  before.reset();
  EXPECT_TRUE(epochs.Passed(stamp));
  EXPECT_FALSE(epochs.Passed(epochs.Retire()));
}

TEST(Epochs, OneThreadMayHoldManyGuards) {
  Epochs epochs;
  std::vector<std::unique_ptr<Epochs::Guard>> guards;
  for (int i = 0; i < Epochs::kSlots; ++i) {
    guards.push_back(std::make_unique<Epochs::Guard>(epochs));
  }
  const Epochs::Stamp stamp = epochs.Retire();
  while (!guards.empty()) {
    EXPECT_FALSE(epochs.Passed(stamp));
    guards.pop_back();
  }
  EXPECT_TRUE(epochs.Passed(stamp));
}

TEST(Epochs, NobodySeesWhatWasFreedAfterItPassed) {
  Epochs epochs;
  constexpr int kAlive = 1, kFreed = 2;
  // Plain memory, on purpose: the thread sanitizer sees a use that is not ordered.
  std::vector<int> cells(2000, kAlive);
  std::atomic<int*> current(cells.data());
  std::atomic<bool> stop(false);
  std::atomic<int64_t> bad(0);
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const Epochs::Guard guard(epochs);
        const int* cell = current.load(std::memory_order_acquire);
        for (int i = 0; i < 4; ++i) bad += *cell != kAlive;
      }
    });
  }
  std::vector<std::pair<int*, Epochs::Stamp>> retired;
  for (size_t i = 1; i < cells.size(); ++i) {
    int* const old = current.load(std::memory_order_relaxed);
    current.store(&cells[i], std::memory_order_release);
    retired.push_back({old, epochs.Retire()});
    std::erase_if(retired, [&](const auto& one) {
      if (!epochs.Passed(one.second)) return false;
      *one.first = kFreed;
      return true;
    });
    if (i % 64 == 0) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace catamaran

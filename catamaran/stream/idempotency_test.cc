#include "catamaran/stream/idempotency.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/stream/record.pb.h"

namespace catamaran {
namespace {

TEST(IdempotencyKeys, AKeyIsTakenOnceWithinItsHorizon) {
  IdempotencyKeys keys(/*horizon_ns=*/100, /*max_keys=*/1000);
  EXPECT_TRUE(keys.Take("a", 10));
  EXPECT_FALSE(keys.Take("a", 10));
  EXPECT_FALSE(keys.Take("a", 110));
  EXPECT_TRUE(keys.Take("a", 111));  // forgotten: it may be another request
  EXPECT_TRUE(keys.Take("", 111));
  EXPECT_TRUE(keys.Take("", 111));
  EXPECT_EQ(keys.size(), 1u);
}

TEST(IdempotencyKeys, TheOldestGoWhenThereAreTooMany) {
  IdempotencyKeys keys(1000, 3);
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_TRUE(keys.Take(key, 1));
  EXPECT_EQ(keys.size(), 3u);
  EXPECT_FALSE(keys.Take("b", 1));
  EXPECT_TRUE(keys.Take("a", 1));
}

TEST(IdempotencyKeys, ComeBackFromACommit) {
  IdempotencyKeys keys(100, 1000);
  keys.Take("a", 10);
  keys.Take("b", 60);
  stream::v1::KeyState state;
  keys.Save(state);
  IdempotencyKeys again(100, 1000);
  again.Load(state);
  EXPECT_FALSE(again.Take("b", 115));
  EXPECT_EQ(again.size(), 1u);  // a is too old
  state.add_first(1);
  EXPECT_THROW(again.Load(state), Error);
}

TEST(IdempotencyKeys, ManyKeysAreRememberedAsASetAndAQueueWould) {
  constexpr int64_t kHorizon = 500;
  constexpr size_t kMost = 700;
  IdempotencyKeys keys(kHorizon, kMost);
  std::deque<std::pair<std::string, int64_t>> order;
  std::set<std::string> known;
  const auto drop = [&] {
    known.erase(order.front().first);
    order.pop_front();
  };
  uint64_t random = 1;
  for (int64_t i = 0; i < 40'000; ++i) {
    random = Mix64(random);
    // Fast and slow by turns, so that there are many and few.
    const int64_t now = i / 5'000 % 2 == 0 ? i / 10 : i;
    const int64_t time = order.empty() ? now : std::max(now, order.back().second);
    const std::string key = std::to_string(random % 3'000);
    while (!order.empty() && order.front().second < time - kHorizon) drop();
    const bool is_new = known.insert(key).second;
    if (is_new) order.emplace_back(key, time);
    while (order.size() > kMost) drop();
    ASSERT_EQ(keys.Take(key, time), is_new) << i;
    ASSERT_EQ(keys.size(), order.size());
  }
}

TEST(IdempotencyKeys, TakeFewBytesAndGiveThemBack) {
  constexpr size_t kKeys = 100'000;
  IdempotencyKeys keys(/*horizon_ns=*/100, kKeys);
  for (size_t i = 0; i < 3 * kKeys; ++i) keys.Take(std::to_string(i), 10);
  EXPECT_EQ(keys.size(), kKeys);
  EXPECT_LE(keys.bytes(), kKeys * 40);
  keys.AdvanceTo(1000);
  EXPECT_EQ(keys.size(), 0u);
  EXPECT_LT(keys.bytes(), 1000u);
}

}  // namespace
}  // namespace catamaran

#include "catamaran/stream/idempotency.h"

#include <gtest/gtest.h>

#include "catamaran/base/error.h"
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

}  // namespace
}  // namespace catamaran

#include "catamaran/table/memory/slot_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace catamaran {
namespace {

TEST(SlotBits, AgreeWithASetOfSlots) {
  constexpr uint32_t kMax = 1u << 30;
  SlotBits bits(kMax), others(kMax);
  std::set<uint32_t> want;
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    const uint32_t slot = i < 10 ? kMax - 1 - static_cast<uint32_t>(i) : random() % 2'000'000;
    ASSERT_EQ(bits.Test(slot), want.count(slot) == 1);
    ASSERT_EQ(bits.Set(slot), !want.insert(slot).second);
  }
  for (const uint32_t limit : {0u, 1u, 64u, 70'001u, 1'000'000u, kMax}) {
    std::vector<uint32_t> got;
    bits.ForEach(limit, [&](uint32_t slot) { got.push_back(slot); });
    ASSERT_EQ(got, std::vector<uint32_t>(want.begin(), want.lower_bound(limit)));
    ASSERT_EQ(bits.Count(limit), static_cast<int64_t>(got.size()));
  }
  others.Set(5);
  others.SetAllOf(bits);
  want.insert(5);
  EXPECT_EQ(others.Count(kMax), static_cast<int64_t>(want.size()));
  bits.Swap(others);
  EXPECT_TRUE(bits.Test(5));
  bits.Clear();
  EXPECT_EQ(bits.Count(kMax), 0);
  EXPECT_FALSE(bits.Test(5));
}

}  // namespace
}  // namespace catamaran

#include "catamaran/base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

namespace catamaran {
namespace {

// Stored data depends on these values: a change of them is a change of format.
TEST(Hash, ValuesNeverChange) {
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(HashString(""), 0xd700d151a7b15f33u);
  EXPECT_EQ(HashString("catamaran"), 0xa8d062980bbde8dau);
  EXPECT_EQ(HashCombine(1, 2), 0xd25e270107c612f4u);
}

TEST(Hash, MixingCanBeUndone) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t x = uint64_t{1} << bit;
    for (const uint64_t y : {x, x - 1, ~x, Mix64(x)}) {
      EXPECT_EQ(Unmix64(Mix64(y)), y);
      EXPECT_EQ(Mix64(Unmix64(y)), y);
    }
  }
}

TEST(Hash, TextsThatDifferInLengthZerosOrSeedDiffer) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length < 100; ++length) seen.insert(HashString(std::string(length, 0)));
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_NE(HashString("a", 1), HashString("a", 2));
  EXPECT_NE(HashString("abcdefgh1"), HashString("abcdefgh2"));
}

TEST(Hash, TheOrderOfCombiningCounts) {
  EXPECT_NE(HashCombine(HashCombine(0, 1), 2), HashCombine(HashCombine(0, 2), 1));
}

TEST(Hash, OneBitOfInputChangesHalfOfTheOutput) {
  int changed = 0;
  for (uint64_t x = 0; x < 100; ++x) {
    for (int bit = 0; bit < 64; ++bit) {
      changed += std::popcount(Mix64(x) ^ Mix64(x ^ (uint64_t{1} << bit)));
    }
  }
  EXPECT_NEAR(changed / 6400.0, 32.0, 0.5);
}

}  // namespace
}  // namespace catamaran

#include "catamaran/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace catamaran {
namespace {

std::vector<uint32_t> Words(PhiloxBlock block) { return {block.words, block.words + 4}; }

// The vectors published by the generator's authors.
TEST(Random, PhiloxGivesThePublishedVectors) {
  EXPECT_EQ(Words(Philox(0, 0, 0)),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Words(Philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0})),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Words(Philox(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu)),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, UniformNumbersAreInRangeAtBothEnds) {
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_EQ(UniformFloat(0xFFFFFFFFu), 1.0f - 1.0f / 16777216.0f);
  EXPECT_EQ(UniformDouble(0, 0), 0.0);
  EXPECT_LT(UniformDouble(0xFFFFFFFFu, 0xFFFFFFFFu), 1.0);
}

TEST(Random, NormalNumbersAreFiniteAtBothEnds) {
  for (const uint32_t a : {0u, 0xFFFFFFFFu}) {
    for (const uint32_t b : {0u, 0xFFFFFFFFu}) {
      EXPECT_TRUE(std::isfinite(NormalFloats(a, b).first));
      EXPECT_TRUE(std::isfinite(NormalFloats(a, b).second));
    }
  }
}

TEST(Random, MomentsAreThoseOfTheDistributions) {
  const int blocks = 100000;
  double uniform = 0, uniform2 = 0, normal = 0, normal2 = 0, normal4 = 0, product = 0;
  for (uint64_t i = 0; i < blocks; ++i) {
    const PhiloxBlock block = Philox(42, i);
    const double u = UniformFloat(block.words[0]);
    uniform += u;
    uniform2 += u * u;
    const NormalPair pair = NormalFloats(block.words[2], block.words[3]);
    normal += pair.first;
    normal2 += pair.first * pair.first;
    normal4 += std::pow(pair.second, 4);
    product += pair.first * pair.second;
  }
  EXPECT_NEAR(uniform / blocks, 0.5, 0.005);
  EXPECT_NEAR(uniform2 / blocks, 1.0 / 3, 0.005);
  EXPECT_NEAR(normal / blocks, 0.0, 0.015);
  EXPECT_NEAR(normal2 / blocks, 1.0, 0.02);
  EXPECT_NEAR(normal4 / blocks, 3.0, 0.15);
  EXPECT_NEAR(product / blocks, 0.0, 0.015);
}

}  // namespace
}  // namespace catamaran

#include "catamaran/table/row_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace catamaran {
namespace {

TableConfig Config(RowStore store, uint64_t seed = 5) {
  TableConfig config;
  config.store = store;
  config.seed = seed;
  return config;
}

std::vector<float> RoundTrip(const RowCodec& codec, const std::vector<float>& values, uint64_t key,
                             int64_t step) {
  const auto columns = static_cast<int64_t>(values.size());
  std::vector<uint32_t> words(static_cast<size_t>(RowCodec::Words(codec.store(), columns)), ~0u);
  codec.Encode(values.data(), columns, key, step, words.data());
  std::vector<float> out(values.size());
  codec.Decode(words.data(), columns, out.data());
  return out;
}

std::vector<float> Normal(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  std::vector<float> values(n);
  for (float& x : values) x = draw(random);
  return values;
}

TEST(RowCodec, F32KeepsEveryBit) {
  const RowCodec codec(Config(RowStore::kF32));
  const std::vector<float> values = Normal(17, 1);
  EXPECT_EQ(RoundTrip(codec, values, 3, 4), values);
}

TEST(RowCodec, RoundingIsRightOnAverageAndToANeighbour) {
  for (const RowStore store : {RowStore::kBf16, RowStore::kInt8}) {
    const RowCodec codec(Config(store));
    const std::vector<float> values = Normal(7, 2);
    float most = 0;
    for (float x : values) most = std::max(most, std::abs(x));
    std::vector<double> sums(values.size());
    constexpr int kSteps = 20'000;
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<float> got = RoundTrip(codec, values, 11, step);
      for (size_t i = 0; i < values.size(); ++i) {
        const float quantum = store == RowStore::kBf16 ? std::abs(values[i]) / 128 : most / 127;
        ASSERT_LE(std::abs(got[i] - values[i]), quantum * 1.0001f);
        sums[i] += static_cast<double>(got[i]);
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const double quantum = static_cast<double>(most) / 127;
      EXPECT_NEAR(sums[i] / kSteps, static_cast<double>(values[i]), quantum * 0.02) << i;
    }
  }
}

TEST(RowCodec, TheDrawsAreAFunctionOfSeedKeyAndStep) {
  for (const RowStore store : {RowStore::kBf16, RowStore::kInt8}) {
    const RowCodec codec(Config(store)), same(Config(store)), other(Config(store, 6));
    const std::vector<float> values = Normal(64, 3);
    const std::vector<float> got = RoundTrip(codec, values, 1, 2);
    EXPECT_EQ(RoundTrip(same, values, 1, 2), got);
    EXPECT_NE(RoundTrip(codec, values, 1, 3), got);
    EXPECT_NE(RoundTrip(codec, values, 2, 2), got);
    EXPECT_NE(RoundTrip(other, values, 1, 2), got);
    EXPECT_NE(RoundTrip(codec, values, 1, kInitialStep), got);
  }
}

TEST(RowCodec, EveryInstructionSetGivesTheSameWords) {
  for (const RowStore store : {RowStore::kBf16, RowStore::kInt8}) {
    const RowCodec plain(Config(store), Isa::kPlain), best(Config(store));
    for (size_t columns = 1; columns <= 1024; columns += columns < 40 ? 1 : 123) {
      const std::vector<float> values = Normal(columns, static_cast<unsigned>(columns));
      const auto n = static_cast<int64_t>(columns);
      const auto num_words = static_cast<size_t>(RowCodec::Words(store, n));
      std::vector<uint32_t> a(num_words + 1, 7), b(num_words + 1, 7);
      plain.Encode(values.data(), n, 9, 10, a.data());
      best.Encode(values.data(), n, 9, 10, b.data());
      ASSERT_EQ(a, b) << columns;
      EXPECT_EQ(a.back(), 7u);  // nothing beyond the words is touched
      std::vector<float> x(columns), y(columns);
      plain.Decode(a.data(), n, x.data());
      best.Decode(a.data(), n, y.data());
      ASSERT_EQ(x, y) << columns;
    }
  }
}

TEST(RowCodec, TheEndOfTheLastWordIsZero) {
  const RowCodec bf16(Config(RowStore::kBf16)), int8(Config(RowStore::kInt8));
  uint32_t words[2] = {~0u, ~0u};
  const float one = 1;
  bf16.Encode(&one, 1, 0, 0, words);
  EXPECT_EQ(words[0], 0x3f80u);
  int8.Encode(&one, 1, 0, 0, words);
  EXPECT_EQ(words[1], 127u);
}

TEST(RowCodec, WhatIsNotFiniteStaysSo) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> values = {infinity, -infinity, std::nanf(""), largest, 0, -0.0f};
  const std::vector<float> got = RoundTrip(RowCodec(Config(RowStore::kBf16)), values, 1, 1);
  EXPECT_EQ(got[0], infinity);
  EXPECT_EQ(got[1], -infinity);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_TRUE(std::isfinite(got[3]));
  EXPECT_EQ(got[4], 0);
  for (float x : RoundTrip(RowCodec(Config(RowStore::kInt8)), values, 1, 1)) {
    EXPECT_TRUE(std::isnan(x));
  }
  const std::vector<float> zeros(5, 0.0f), tiny(5, 1e-40f);
  EXPECT_EQ(RoundTrip(RowCodec(Config(RowStore::kInt8)), zeros, 1, 1), zeros);
  EXPECT_EQ(RoundTrip(RowCodec(Config(RowStore::kInt8)), tiny, 1, 1), zeros);
}

}  // namespace
}  // namespace catamaran

#include "catamaran/table/table_config.h"

#include <gtest/gtest.h>

#include <limits>

#include "catamaran/base/error.h"
#include "catamaran/table/sketch.h"

namespace catamaran {
namespace {

// Keys of features lie in states that are kept for years: these must not change.
TEST(TableConfig, TheKeysOfAFeatureAreTheSameInEveryBuild) {
  EXPECT_EQ(FeatureSalt(""), 0u);
  EXPECT_EQ(FeatureSalt("user"), 7546591216046660503u);
  EXPECT_EQ(FeatureSalt("item"), 1412471618452265839u);
  EXPECT_EQ(FeatureSalt("a feature with a long name"), 9333312307778797959u);
  EXPECT_EQ(SaltedKey(7, FeatureSalt("")), 7u);
  EXPECT_EQ(SaltedKey(0, FeatureSalt("user")), 15695018600392211749u);
  EXPECT_EQ(SaltedKey(7, FeatureSalt("user")), 4546708311645864024u);
  EXPECT_EQ(SaltedKey(UINT64_MAX, FeatureSalt("item")), 15800569160120319657u);
}

TEST(TableConfig, EqualIdsOfDifferentFeaturesAreDifferentKeys) {
  EXPECT_NE(SaltedKey(1, FeatureSalt("user")), SaltedKey(1, FeatureSalt("item")));
  EXPECT_NE(SaltedKey(1, FeatureSalt("user")), 1u);
}

TEST(TableConfig, WhatMakesNoSenseIsRefusedAndSaid) {
  const auto message = [](auto&& change) -> std::string {
    TableConfig config;
    config.width = 4;
    change(config);
    try {
      CheckTableConfig(config);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message([](TableConfig&) {}), "");
  EXPECT_EQ(message([](TableConfig& c) { c.width = 1024; }), "");
  EXPECT_EQ(message([](TableConfig& c) { c.width = 1025; }),
            "table: a row must have 1 to 1024 numbers, not 1025");
  EXPECT_EQ(message([](TableConfig& c) { c.width = 0; }),
            "table: a row must have 1 to 1024 numbers, not 0");
  EXPECT_EQ(message([](TableConfig& c) {
              c.admit.kind = TableAdmit::Kind::kSketch;
              c.admit.sketch_bytes = 100;
            }),
            "table: admit = sketch(bytes) wants at least 131072 bytes, not 100");
  EXPECT_EQ(message([](TableConfig& c) {
              c.admit = {TableAdmit::Kind::kSketch, 70'000};
              c.admit.sketch_bytes = 1 << 20;
            }),
            "table: admit = sketch(n) wants n of at most 65535, not 70000");
  EXPECT_EQ(message([](TableConfig& c) {
              c.admit = {TableAdmit::Kind::kProbability, 1, 1.5};
            }),
            "table: admit = probability(p) wants p from 0 to 1, not 1.5");
  EXPECT_EQ(message([](TableConfig& c) { c.expire.max_bytes = -1; }),
            "table: expire wants a budget that is not negative");
  EXPECT_EQ(message([](TableConfig& c) { c.grow_at = std::numeric_limits<double>::infinity(); }),
            "table: grow_at wants a number that is finite");
  EXPECT_EQ(message([](TableConfig& c) {
              c.features = {"user", "item", "user"};
            }),
            "table: feature user is named twice");
  EXPECT_EQ(message([](TableConfig& c) { c.features.assign(256, "x"); }),
            "table: at most 255 features can share a table, not 256");
}

}  // namespace
}  // namespace catamaran

#include "catamaran/train/label_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/train/train_test_util.h"

namespace catamaran {
namespace {

using ::catamaran::testing::FlatFrom;
using ::testing::HasSubstr;

// The rules of a program with the argument `label : type` whose loss is that expression.
LabelRules RulesFor(const std::string& type, const std::string& loss) {
  Program flat = FlatFrom(
      "program p\nfc = linear(3, 4)\n"
      "fn infer(x: f32[B, 3]) -> f32[B, 4] { return fc(x) }\n"
      "fn loss(x: f32[B, 3], label: " +
      type + ", weight: f32[B]) -> f32[] {\n  y = infer(x)\n  return " + loss +
      "\n}\ntrain = sgd(grad(loss), lr=0.1)\n");
  const EntryPoints entry = FindEntryPoints(flat);
  return LabelRules(flat, entry);
}

TEST(LabelRules, ABinaryLabelOfAHugeNumberWasLearnedFrom) {
  const LabelRules rules =
      RulesFor("f32[B, 4]", "mean(binary_cross_entropy_logits(y, label)) * mean(weight)");
  for (const double good : {0.0, 0.25, 1.0}) EXPECT_EQ(rules.Problem("label", good), "");
  for (const double bad : {1e30, 2.0, -0.5, double{NAN}, HUGE_VAL}) {
    EXPECT_THAT(rules.Problem("label", bad),
                HasSubstr("wanted a number from 0 to 1 (binary_cross_entropy_logits, test.ctm:6"))
        << bad;
  }
  EXPECT_EQ(rules.Problem("x", 1e30), "");
}

TEST(LabelRules, AClassIsOneOfThoseThatThereAre) {
  const LabelRules rules = RulesFor("i64[B]", "mean(softmax_cross_entropy(y, label) * weight)");
  EXPECT_EQ(rules.Problem("label", 3), "");
  for (const double bad : {4.0, -1.0, 1.5}) {
    EXPECT_THAT(rules.Problem("label", bad), HasSubstr("wanted a class from 0 to 3")) << bad;
  }
  const LabelRules ignoring =
      RulesFor("i64[B]", "mean(softmax_cross_entropy(y, label, ignore_index=-1) * weight)");
  EXPECT_EQ(ignoring.Problem("label", -1), "");
  EXPECT_NE(ignoring.Problem("label", -2), "");
}

TEST(LabelRules, ALabelIsFollowedThroughCastsAndShapes) {
  const LabelRules rules = RulesFor(
      "i64[B]", "mean(binary_cross_entropy_logits(sum(y, axes=[1]), cast(label, f32)) * weight)");
  EXPECT_EQ(rules.Problem("label", 1), "");
  EXPECT_THAT(rules.Problem("label", 2), HasSubstr("from 0 to 1"));
  const LabelRules shaped = RulesFor(
      "f32[B]", "mean(binary_cross_entropy_logits(y, reshape(label, [B, 1]))) * mean(weight)");
  EXPECT_THAT(shaped.Problem("label", 2), HasSubstr("from 0 to 1"));
}

TEST(LabelRules, AnyOtherLabelHasASquareInF32) {
  const LabelRules rules = RulesFor("f32[B]", "mean(square(sum(y, axes=[1]) - label) * weight)");
  EXPECT_EQ(rules.Problem("label", -1e18), "");
  EXPECT_EQ(rules.Problem("label", 1e30),
            "found 1e+30, wanted a finite number, at most 1e+18 in size");
  EXPECT_THAT(rules.Problem("label", NAN), HasSubstr("found no number"));
}

TEST(LabelRules, AWeightIsFiniteAndNotNegative) {
  const LabelRules rules = RulesFor("f32[B]", "mean(square(sum(y, axes=[1]) - label) * weight)");
  EXPECT_EQ(rules.Problem("weight", 0), "");
  EXPECT_THAT(rules.Problem("weight", -1), HasSubstr("wanted a finite number from 0 on"));
  EXPECT_NE(rules.Problem("weight", HUGE_VAL), "");
}

}  // namespace
}  // namespace catamaran

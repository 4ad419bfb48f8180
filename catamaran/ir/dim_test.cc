#include "catamaran/ir/dim.h"

#include <gtest/gtest.h>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

const Dim B = Dim::Name("B"), T = Dim::Name("T"), H = Dim::Name("H");

TEST(Dim, EqualExpressionsAreEqualValues) {
  EXPECT_EQ(B * T + 1, 1 + T * B);
  EXPECT_EQ((B + 1) * 2, B * 2 + 2);
  EXPECT_EQ(B - B, Dim(0));
  EXPECT_EQ(B * B * T, T * B * B);
  EXPECT_NE(B * B, B);
}

TEST(Dim, QuotientsRoundDownAndSimplifyWhatDividesEvenly) {
  EXPECT_EQ(Dim(7) / 2, Dim(3));
  EXPECT_EQ(Dim(-7) / 2, Dim(-4));
  EXPECT_EQ((B * 6) / 3, B * 2);
  EXPECT_EQ((B * T) / T, B);
  EXPECT_EQ((B * 4 + H) / 4, B + H / 4);
  EXPECT_EQ(((H + 1) / 2).ToString(), "(H+1)/2");
  EXPECT_EQ((((H + 1) / 2) * 3).ToString(), "3*((H+1)/2)");
}

TEST(Dim, EqualityIsProvenRefutedOrLeftOpen) {
  EXPECT_EQ(Dim::Equal(B + T, T + B), Dim::Truth::kYes);
  EXPECT_EQ(Dim::Equal(B, B + 1), Dim::Truth::kNo);
  EXPECT_EQ(Dim::Equal(3, 4), Dim::Truth::kNo);
  EXPECT_EQ(Dim::Equal(B, T), Dim::Truth::kUnknown);
  EXPECT_EQ(Dim::Equal(B * 2, B), Dim::Truth::kUnknown);  // equal when B is 0
}

TEST(Dim, SubstitutionGivesTheCanonicalForm) {
  const Dim d = ((H + 1) / 2) * B;
  const Dim replaced = d.Substitute([](const std::string& n) -> std::optional<Dim> {
    if (n == "H") return Dim(7);
    return std::nullopt;
  });
  EXPECT_EQ(replaced, B * 4);
}

TEST(Dim, EvaluationNeedsAllNames) {
  const Dim d = (H + 1) / 2 * B;
  auto some = [](const std::string& n) -> std::optional<int64_t> {
    if (n == "H") return 8;
    return std::nullopt;
  };
  EXPECT_EQ(d.Evaluate(some), std::nullopt);
  auto all = [](const std::string& n) -> std::optional<int64_t> { return n == "H" ? 8 : 3; };
  EXPECT_EQ(d.Evaluate(all), 12);
}

TEST(Dim, OverflowAndDivisionByZeroAreErrors) {
  EXPECT_THROW(Dim(INT64_MAX) + 1, Error);
  EXPECT_THROW(B * INT64_MAX * 2, Error);
  EXPECT_THROW(B / 0, Error);
  const Dim d = B / T;
  EXPECT_THROW((void)d.Evaluate([](const std::string&) -> std::optional<int64_t> { return 0; }),
               Error);
}

TEST(Dim, ExpressionsCannotGrowWithoutBound) {
  Dim sum(1);
  for (int i = 0; i < 15; ++i) sum = sum + Dim::Name("x" + std::to_string(i));
  Dim product = sum;
  EXPECT_THROW(
      {
        for (int i = 0; i < 6; ++i) product = product * sum;
      },
      Error);
}

}  // namespace
}  // namespace catamaran

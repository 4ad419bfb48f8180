// The same checks as random_program_test.cc, of many more programs, larger ones among them.

#include "catamaran/nn/random_program_check_test_util.h"

namespace catamaran {
namespace {

TEST(RandomProgramSlow, RoundTripsAndHasTheRightGradient) {
  RandomProgramChecker checker;
  for (uint32_t seed = 10'000; seed < 13'000 && !HasFailure(); ++seed) {
    RandomProgramOptions options;
    options.max_ops = 4 + static_cast<int>(seed % 5) * 4;
    checker.Check(seed, options, seed % 2 ? kGradientOfArguments : kGradientOfStates, "g");
  }
  EXPECT_GT(checker.counts().derivatives, 5 * checker.counts().programs);
  EXPECT_LT(checker.counts().kinks, checker.counts().derivatives / 20);
}

TEST(RandomProgramSlow, CanBeDifferentiatedTwice) {
  RandomProgramChecker checker;
  const RandomProgramOptions smooth{.loops = false, .kinks = false, .sparse = false};
  for (uint32_t seed = 20'000; seed < 20'600 && !HasFailure(); ++seed) {
    checker.Check(seed, smooth, kSecondGradient, "g");
  }
  EXPECT_GT(checker.counts().derivatives, 3 * checker.counts().programs);
}

}  // namespace
}  // namespace catamaran

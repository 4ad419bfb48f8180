// Random programs: printed, stored, verified, differentiated and run in every way.

#include "catamaran/nn/random_program_check_test_util.h"

namespace catamaran {
namespace {

TEST(RandomProgram, RoundTripsAndHasTheRightGradient) {
  RandomProgramChecker checker;
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    checker.Check(seed, {}, seed % 2 ? kGradientOfArguments : kGradientOfStates, "g");
  }
  EXPECT_GT(checker.counts().derivatives, 5 * checker.counts().programs);
  EXPECT_LT(checker.counts().kinks, checker.counts().derivatives / 20);
}

TEST(RandomProgram, CanBeDifferentiatedTwice) {
  RandomProgramChecker checker;
  const RandomProgramOptions smooth{.loops = false, .kinks = false, .sparse = false};
  for (uint32_t seed = 1000; seed < 1100 && !HasFailure(); ++seed) {
    checker.Check(seed, smooth, kSecondGradient, "g");
  }
  EXPECT_GT(checker.counts().derivatives, 3 * checker.counts().programs);
}

}  // namespace
}  // namespace catamaran

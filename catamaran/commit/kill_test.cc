#include "catamaran/commit/kill_check_test_util.h"

namespace catamaran {
namespace {

TEST(Kill, AProcessThatIsKilledAFewTimesLosesNothingThatItCommitted) {
  int commits = 0;
  test::KillAgainAndAgain(20, 1, &commits);
  EXPECT_GT(commits, 2);
}

}  // namespace
}  // namespace catamaran

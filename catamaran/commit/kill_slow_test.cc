#include "catamaran/commit/kill_check_test_util.h"

namespace catamaran {
namespace {

TEST(Kill, AProcessThatIsKilledTwoHundredTimesLosesNothingThatItCommitted) {
  int commits = 0;
  test::KillAgainAndAgain(200, 1000, &commits);
  EXPECT_GT(commits, 20);
}

}  // namespace
}  // namespace catamaran

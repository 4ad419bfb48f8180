#include <gtest/gtest.h>

#include "catamaran/serve/learn/kill_check_test_util.h"

namespace catamaran {
namespace {

TEST(LearnerKillSlow, EveryAcknowledgedExampleIsLearnedOnceThoughItIsKilledAHundredTimes) {
  test::KillLearnerAgainAndAgain(100, 77);
}

}  // namespace
}  // namespace catamaran

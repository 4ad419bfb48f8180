#include <gtest/gtest.h>

#include "catamaran/serve/learn/kill_check_test_util.h"

namespace catamaran {
namespace {

TEST(LearnerKill, EveryAcknowledgedExampleIsLearnedOnce) { test::KillLearnerAgainAndAgain(8, 1); }

}  // namespace
}  // namespace catamaran

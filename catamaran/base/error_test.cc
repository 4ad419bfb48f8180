#include "catamaran/base/error.h"

#include <gtest/gtest.h>

namespace catamaran {
namespace {

std::string MessageOf(void (*function)()) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Error, FailFormatsItsMessage) {
  EXPECT_EQ(MessageOf([] { Fail("matmul: inner dimensions differ: {} and {}", 416, 429); }),
            "matmul: inner dimensions differ: 416 and 429");
}

TEST(Error, AFailedCheckNamesFileConditionAndMessage) {
  const std::string message = MessageOf([] { CATAMARAN_CHECK(1 + 1 == 3, "found {}", 2); });
  EXPECT_TRUE(message.starts_with("internal error: error_test.cc:")) << message;
  EXPECT_TRUE(message.ends_with("1 + 1 == 3 does not hold: found 2")) << message;
}

TEST(Error, AFailedCheckNeedsNoMessage) {
  const std::string message = MessageOf([] { CATAMARAN_CHECK(false); });
  EXPECT_TRUE(message.ends_with("false does not hold")) << message;
}

TEST(Error, ACheckThatHoldsEvaluatesNoArguments) {
  int evaluated = 0;
  CATAMARAN_CHECK(true, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace catamaran

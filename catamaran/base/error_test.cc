#include "catamaran/base/error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

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

TEST(Error, KeepsItsCode) {
  const auto code_of = [](auto body) {
    try {
      body();
    } catch (...) {
      return CodeOfCurrentException();
    }
    return ErrorCode::kCancelled;
  };
  EXPECT_EQ(code_of([] { Fail("no code"); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([] { Fail(ErrorCode::kStorage, "{} is damaged", "x"); }), ErrorCode::kStorage);
  EXPECT_EQ(code_of([] { CATAMARAN_CHECK(false); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }), ErrorCode::kResourceExhausted);
  EXPECT_EQ(code_of([] {
              throw std::system_error(std::make_error_code(std::errc::too_many_files_open));
            }),
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(code_of([] { throw std::logic_error("x"); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([] { throw 1; }), ErrorCode::kInternal);
}

TEST(Error, SaysWhatRanOut) {
  EXPECT_EQ(DescribeError(std::bad_alloc()), "out of memory");
  EXPECT_EQ(DescribeError(Error("what", ErrorCode::kBadData)), "what");
  EXPECT_EQ(DescribeError(std::logic_error("x")), "internal error: x");
}

}  // namespace
}  // namespace catamaran

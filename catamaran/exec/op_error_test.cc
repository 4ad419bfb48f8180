#include "catamaran/exec/op_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <system_error>

#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// What a kernel does when it runs.
std::function<void()>* kernel_does = nullptr;

KernelStatus DoIt(KernelContext&) {
  (*kernel_does)();
  return KernelStatus::kDone;
}

// The Error that a program ends with in whose line 3 an op does that.
Error ErrorOfOp(std::function<void()> does) {
  auto ops = test::Ops();
  ops->Define("test_do")
      .In("x")
      .Infer([](InferContext& c) { c.SetResult(c.type(0)); })
      .Reference("", &DoIt);
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[2]) -> f32[2] {
  return test_do(x)
}
)",
                                   ops);
  kernel_does = &does;
  try {
    Compile(flat, "f")->Run(*State::Create(flat, 1), {{"x", F32({2}, {1, 2})}});
  } catch (const Error& error) {
    return error;
  }
  return Error("nothing was thrown");
}

struct Case {
  const char* name;
  std::function<void()> does;
  ErrorCode code;
  const char* says;
};

class OpError : public ::testing::TestWithParam<Case> {};

TEST_P(OpError, KeepsTheCodeAndNamesTheLine) {
  const Error error = ErrorOfOp(GetParam().does);
  EXPECT_EQ(error.code(), GetParam().code) << error.what();
  EXPECT_THAT(error.what(), StartsWith("test.ctm:3"));
  EXPECT_THAT(error.what(), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OpError,
    ::testing::Values(Case{"User", [] { Fail("found {}", 3); }, ErrorCode::kInvalidArgument,
                           "found 3"},
                      Case{"BadData", [] { Fail(ErrorCode::kBadData, "label 7"); },
                           ErrorCode::kBadData, "label 7"},
                      Case{"Storage", [] { Fail(ErrorCode::kStorage, "t.rows is damaged"); },
                           ErrorCode::kStorage, "t.rows is damaged"},
                      Case{"Memory", [] { throw std::bad_alloc(); }, ErrorCode::kResourceExhausted,
                           "out of memory"},
                      Case{"Thread",
                           [] {
                             throw std::system_error(
                                 std::make_error_code(std::errc::resource_unavailable_try_again));
                           },
                           ErrorCode::kResourceExhausted, "has no more of what was asked for"},
                      Case{"Check", [] { CATAMARAN_CHECK(1 > 2, "one"); }, ErrorCode::kInternal,
                           "internal error"},
                      Case{"Other", [] { throw std::logic_error("odd"); }, ErrorCode::kInternal,
                           "internal error: odd"}),
    [](const auto& info) { return info.param.name; });

TEST(OpErrorOfPrograms, ALabelOutsideOfTheClassesIsBadData) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[B, 3], label: i64[B]) {
  return softmax_cross_entropy(x, label)
}
)");
  try {
    Compile(flat, "f")->Run(*State::Create(flat, 1), {{"x", F32({1, 3}, {1, 2, 3})},
                                                      {"label", Tensor::FromVector<int64_t>({7})}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.what(), StartsWith("test.ctm:3"));
  }
}

TEST(OpErrorOfPrograms, ACancelledRunIsCancelled) {
  const Program flat = FlatProgram("program p\nfn f(x: f32[2]) -> f32[2] { return x + x }\n");
  CancelToken cancel;
  cancel.Cancel();
  RunOptions options;
  options.cancel = &cancel;
  try {
    Compile(flat, "f")->Run(*State::Create(flat, 1), {{"x", F32({2}, {1, 2})}}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace catamaran

#include "catamaran/exec/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;
using test::MessageOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Executable, RunsAFunctionOfItsArguments) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[B, 3], y: f32[3]) -> f32[B, 3] {
  z = x * y
  return z + x
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const RunResult result =
      f->Run(*state, {{"x", F32({2, 3}, {1, 2, 3, 4, 5, 6})}, {"y", F32({3}, {1, 0, -1})}});
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].ToString(), F32({2, 3}, {2, 2, 0, 8, 5, 0}).ToString());
  EXPECT_FALSE(result.committed);
}

TEST(Executable, CallsAreExpandedAndDeadOpsAreNotRun) {
  const Program flat = FlatProgram(R"(program p
fn twice(x: f32[N]) -> f32[N] { return x + x }
fn f(x: f32[N]) -> f32[N] {
  unused = test_positive(x)
  return twice(twice(x))
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  EXPECT_TRUE(f->Run(*state, {{"x", F32({2}, {-1, 2})}}).outputs[0].Equals(F32({2}, {-4, 8})));
}

TEST(Executable, ResultsMayBeArgumentsStatesConstantsAndEachOther) {
  const Program flat = FlatProgram(R"(program p
param @w : f32[2] = 7
fn f(x: f32[2]) {
  y = x + x
  r = reshape(y, [2, 1])
  return x, @w, 3.0, y, y, r
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const auto out = f->Run(*state, {{"x", F32({2}, {1, 2})}}).outputs;
  ASSERT_EQ(out.size(), 6u);
  EXPECT_TRUE(out[0].Equals(F32({2}, {1, 2})));
  EXPECT_TRUE(out[1].Equals(F32({2}, {7, 7})));
  EXPECT_TRUE(out[2].Equals(F32({}, {3})));
  EXPECT_TRUE(out[3].Equals(F32({2}, {2, 4})));
  EXPECT_TRUE(out[4].Equals(F32({2}, {2, 4})));
  EXPECT_TRUE(out[5].Equals(F32({2, 1}, {2, 4})));
}

TEST(Executable, ResultsGoIntoTheCallersBuffers) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[B]) { return x + x, x * x }
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const Tensor x = F32({3}, {1, 2, 3});
  const FeedValue feeds[] = {x};
  float squares[3] = {};
  FetchBuffer fetches[2];
  fetches[1] = {squares, sizeof(squares), {}};
  f->Run(*state, feeds, fetches);
  EXPECT_EQ(fetches[0].shape, Shape({3}));
  EXPECT_THAT(squares, testing::ElementsAre(1, 4, 9));
  fetches[1].capacity = 8;
  EXPECT_THAT(MessageOf([&] { f->Run(*state, feeds, fetches); }), HasSubstr("has 12 bytes"));
  fetches[1].capacity = sizeof(squares);
  f->Run(*state, feeds, fetches);  // the frame is still good
}

TEST(Executable, WrongArgumentsAreExplained) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[B, 3],
     y: f32[B]) -> f32[B] {
  return sum(x, axes=[1]) + y
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const Tensor x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto message = [&](std::map<std::string, Tensor> feeds) {
    return MessageOf([&] { f->Run(*state, feeds); });
  };
  EXPECT_THAT(message({{"x", x}}), HasSubstr("argument y"));
  EXPECT_THAT(message({{"x", x}, {"y", F32({3}, {1, 2, 3})}}),
              testing::AllOf(HasSubstr("argument y : f32[B]"), HasSubstr("test.ctm:3"),
                             HasSubstr("B is 3 here and 2 in argument x")));
  EXPECT_THAT(message({{"x", F32({2}, {1, 2})}, {"y", F32({2}, {1, 2})}}),
              testing::AllOf(HasSubstr("argument x : f32[B, 3]"), HasSubstr("test.ctm:2"),
                             HasSubstr("found f32[2]")));
  EXPECT_THAT(message({{"x", F32({1, 4}, {1, 2, 3, 4})}, {"y", F32({1}, {1})}}),
              HasSubstr("dimension 1 must be 3"));
  EXPECT_THAT(message({{"x", Tensor::From<double>({1, 3}, {1, 2, 3})}, {"y", F32({1}, {1})}}),
              HasSubstr("found f64[1, 3]"));
  EXPECT_THAT(message({{"x", x}, {"y", F32({2}, {1, 2})}, {"yy", x}}),
              HasSubstr("did you mean y?"));
}

TEST(Executable, AnErrorInAKernelNamesLineAndOpAndTheWayToIt) {
  const Program flat = FlatProgram(R"(program p
fn inner(x: f32[N]) -> f32[N] {
  y = test_positive(x)
  return y
}
fn f(x: f32[N]) -> f32[N] {
  return inner(x + x)
}
)");
  const auto state = State::Create(flat, 1);
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const auto f = Compile(flat, "f", {.threads = 2, .schedule = schedule});
    const std::string message = MessageOf([&] { f->Run(*state, {{"x", F32({2}, {1, -2})}}); });
    EXPECT_THAT(message, StartsWith("test.ctm:3: test_positive: element 1 is -4"));
    EXPECT_THAT(message, HasSubstr("test.ctm:7"));
    EXPECT_TRUE(f->Run(*state, {{"x", F32({1}, {1})}}).outputs[0].Equals(F32({1}, {2})));
  }
}

TEST(Executable, AnUnknownFunctionGetsASuggestion) {
  const Program flat = FlatProgram("program p\nfn infer(x: f32[N]) -> f32[N] { return x }\n");
  EXPECT_THAT(MessageOf([&] { Compile(flat, "infre"); }), HasSubstr("did you mean infer?"));
}

TEST(Executable, AStateOfAnotherProgramIsRefused) {
  const Program flat = FlatProgram("program p\nparam @w : f32[2]\nfn f() { return @w }\n");
  const Program other = FlatProgram("program p\nparam @w : f32[3]\nfn f() { return @w }\n");
  const auto state = State::Create(other, 1);
  EXPECT_THAT(MessageOf([&] { Compile(flat, "f")->Run(*state); }), HasSubstr("other declarations"));
}

// --- Commit regions.

constexpr std::string_view kCounting = R"(program p
param @w : f32[2] = 1
var @count : f32[] = 0
fn train(x: f32[2], ok: bool[]) {
  before = @w
  next = @count + 1.0
  commit {
    guard(ok)
    test_add(@w, x)
    write(@count, next)
  }
  return before, next
}
fn look() { return @w, @count }
)";

TEST(Commit, EffectsApplyTogetherAndResultsAreFromBefore) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const RunResult result =
      train->Run(*state, {{"x", F32({2}, {1, 2})}, {"ok", Tensor::Scalar(true)}});
  EXPECT_TRUE(result.committed);
  EXPECT_FALSE(result.refused);
  EXPECT_EQ(result.step, 1);
  EXPECT_TRUE(result.outputs[0].Equals(F32({2}, {1, 1})));
  EXPECT_TRUE(state->GetTensor("w").Equals(F32({2}, {2, 3})));
  EXPECT_TRUE(state->GetTensor("count").Equals(F32({}, {1})));
}

TEST(Commit, ARefusedStepChangesNothing) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const RunResult result =
      train->Run(*state, {{"x", F32({2}, {1, 2})}, {"ok", Tensor::Scalar(false)}});
  EXPECT_TRUE(result.refused);
  EXPECT_FALSE(result.committed);
  EXPECT_EQ(state->step(), 0);
  EXPECT_TRUE(state->GetTensor("w").Equals(F32({2}, {1, 1})));
  EXPECT_TRUE(state->GetTensor("count").Equals(F32({}, {0})));
}

TEST(Commit, EveryEffectSeesTheStateFromBeforeTheStep) {
  const Program flat = FlatProgram(R"(program p
var @a : f32[2] = 1
var @b : f32[2] = 2
var @c : f32[1, 2] = 0
fn swap() {
  commit {
    write(@a, @b)
    write(@b, @a)
  }
  return 0
}
fn chase() {
  seen = reshape(@a, [1, 2])
  commit {
    test_add(@a, @a)
    write(@c, seen)
  }
  return 0
}
)");
  const auto state = State::Create(flat, 1);
  const auto swap = Compile(flat, "swap");
  swap->Run(*state);
  EXPECT_TRUE(state->GetTensor("a").Equals(F32({2}, {2, 2})));
  EXPECT_TRUE(state->GetTensor("b").Equals(F32({2}, {1, 1})));
  Compile(flat, "chase")->Run(*state);
  EXPECT_TRUE(state->GetTensor("a").Equals(F32({2}, {4, 4})));
  EXPECT_TRUE(state->GetTensor("c").Equals(F32({1, 2}, {2, 2})));
}

TEST(Commit, ReadersSeeWhatWasCommitted) {
  const Program flat = FlatProgram(kCounting);
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const auto look = Compile(flat, "look");
  EXPECT_TRUE(look->Run(*state).outputs[0].Equals(F32({2}, {1, 1})));
  train->Run(*state, {{"x", F32({2}, {1, 2})}, {"ok", Tensor::Scalar(true)}});
  const RunResult seen = look->Run(*state);
  EXPECT_TRUE(seen.outputs[0].Equals(F32({2}, {2, 3})));
  EXPECT_TRUE(seen.outputs[1].Equals(F32({}, {1})));
  EXPECT_EQ(seen.step, 1);
}

}  // namespace
}  // namespace catamaran

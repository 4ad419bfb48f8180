#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/failing_memory_test_util.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;

TEST(Loop, AMillionIterationsAllocateNothing) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[4], n: i64[]) {
  y, k = for i in range(n) with (y = x, k = 0.0) {
    yield y + x, k + 1.0
  }
  return y, k
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const Tensor x = F32({4}, {1, 0, 0.5, -1});
  const auto run = [&](int64_t n) {
    const Tensor count = Tensor::Scalar<int64_t>(n);
    const FeedValue feeds[] = {x, count};
    float y[4], k = 0;
    FetchBuffer fetches[] = {{y, sizeof(y), {}}, {&k, sizeof(k), {}}};
    const int64_t before = FailingMemory::requests();
    f->Run(*state, feeds, fetches);
    const int64_t made = FailingMemory::requests() - before;
    EXPECT_EQ(k, static_cast<float>(n));
    EXPECT_EQ(y[0], static_cast<float>(n + 1));
    return made;
  };
  run(3);
  EXPECT_EQ(run(3), 0);
  EXPECT_EQ(run(1'000'000), 0);
}

TEST(Loop, ZeroIterationsYieldTheInitialValue) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[2], n: i64[]) {
  y = for i in range(n) with (y = x) { yield y + y }
  return y + 1.0
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  for (const int64_t n : {0, -5}) {
    const auto out = f->Run(*state, {{"x", F32({2}, {1, 2})}, {"n", Tensor::Scalar(n)}}).outputs;
    EXPECT_TRUE(out[0].Equals(F32({2}, {2, 3})));
  }
}

TEST(Loop, CarriedValuesMayChangePlaces) {
  const Program flat = FlatProgram(R"(program p
fn f(a: f32[100], b: f32[100], n: i64[]) {
  x, y, z = for i in range(n) with (x = a, y = b, z = a) {
    yield y, x, x + y
  }
  return x, y, z
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  Tensor a = Tensor::Zeros(DType::kF32, {100}), b = Tensor::Zeros(DType::kF32, {100});
  for (int i = 0; i < 100; ++i) {
    a.mutable_data<float>()[i] = static_cast<float>(i);
    b.mutable_data<float>()[i] = static_cast<float>(1000 * i);
  }
  for (const int64_t n : {1, 2, 3, 4}) {
    const auto out = f->Run(*state, {{"a", a}, {"b", b}, {"n", Tensor::Scalar(n)}}).outputs;
    EXPECT_TRUE(out[0].Equals(n % 2 ? b : a)) << n;
    EXPECT_TRUE(out[1].Equals(n % 2 ? a : b)) << n;
    EXPECT_EQ(out[2].data<float>()[7], 7007) << n;
  }
}

TEST(Loop, AnUnchangedOrAliasedCarriedValueStays) {
  const Program flat = FlatProgram(R"(program p
fn f(a: f32[4], n: i64[]) {
  x, y = for i in range(n) with (x = a, y = reshape(a, [2, 2])) {
    flat = reshape(y, [4])
    yield x, reshape(flat + x, [2, 2])
  }
  return x, y
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const auto out =
      f->Run(*state, {{"a", F32({4}, {1, 2, 3, 4})}, {"n", Tensor::Scalar<int64_t>(3)}}).outputs;
  EXPECT_TRUE(out[0].Equals(F32({4}, {1, 2, 3, 4})));
  EXPECT_TRUE(out[1].Equals(F32({2, 2}, {4, 8, 12, 16})));
}

TEST(Loop, NestsWithBranchesAndOuterValues) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[2], n: i64[]) {
  scale = x * 2.0
  y = for i in range(n) with (y = x) {
    inner = for j in range(i) with (z = y) {
      yield z + scale
    }
    odd = i - i / 2 * 2
    picked = if odd == 1 { yield inner } else { yield y + 1.0 }
    yield picked
  }
  return y
}
)");
  const auto state = State::Create(flat, 1);
  std::vector<Tensor> results;
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const auto f = Compile(flat, "f", {.threads = 2, .schedule = schedule});
    const auto out =
        f->Run(*state, {{"x", F32({2}, {1, 2})}, {"n", Tensor::Scalar<int64_t>(5)}}).outputs;
    // i = 0: +1; 1: + scale; 2: +1; 3: + 3 scale; 4: +1.
    EXPECT_TRUE(out[0].Equals(F32({2}, {1 + 3 + 4 * 2, 2 + 3 + 4 * 4}))) << out[0];
  }
}

TEST(Loop, WhileRunsUntilItsConditionFails) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[], limit: f32[]) {
  y, n = while y < limit with (y = x, n = 0) {
    yield y + y, n + 1
  }
  return y, n
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const auto out = f->Run(*state, {{"x", F32({}, {1})}, {"limit", F32({}, {1000})}}).outputs;
  EXPECT_EQ(out[0].item<float>(), 1024);
  EXPECT_EQ(out[1].item<int64_t>(), 10);
}

TEST(Loop, KeysDifferByIterationStepAndCallAndRepeatBySeed) {
  const Program flat = FlatProgram(R"(program p
var @n : f32[] = 0
fn draw() -> f32[4] { return uniform(key(), shape=[4]) }
fn f() {
  a = draw()
  b = draw()
  y, z = for i in range(2) with (y = a, z = a) { yield z, uniform(key(), shape=[4]) }
  commit { write(@n, @n + 1.0) }
  return a, b, y, z
}
)");
  const auto f = Compile(flat, "f");
  const auto first = State::Create(flat, 1), again = State::Create(flat, 1),
             other = State::Create(flat, 2);
  const auto x = f->Run(*first), y = f->Run(*first), z = f->Run(*again), w = f->Run(*other);
  EXPECT_FALSE(x.outputs[0].Equals(x.outputs[1]));
  EXPECT_FALSE(x.outputs[2].Equals(x.outputs[3]));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(x.outputs[i].Equals(y.outputs[i]));
    EXPECT_TRUE(x.outputs[i].Equals(z.outputs[i]));
    EXPECT_FALSE(x.outputs[i].Equals(w.outputs[i]));
  }
}

// How long it takes is a matter of bench/run op-overhead; here: it is right, and in the steady
// state it allocates nothing.
TEST(Loop, AChainOfSmallOpsRunsWithoutAllocating) {
  std::string text = "program p\nfn f(x: f32[1]) {\n  y0 = test_negate(x)\n";
  constexpr int kOps = 1000;
  for (int i = 1; i < kOps; ++i) {
    text += fmt::format("  y{} = test_negate(y{})\n", i, i - 1);
  }
  text += fmt::format("  return y{}\n}}\n", kOps - 1);
  const Program flat = FlatProgram(text);
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const Tensor x = F32({1}, {1});
  const FeedValue feeds[] = {x};
  float y = 0;
  FetchBuffer fetches[] = {{&y, sizeof(y), {}}};
  f->Run(*state, feeds, fetches);
  const int64_t before = FailingMemory::requests();
  for (int repeat = 0; repeat < 50; ++repeat) f->Run(*state, feeds, fetches);
  EXPECT_EQ(FailingMemory::requests() - before, 0);
  EXPECT_EQ(y, 1);
}

}  // namespace
}  // namespace catamaran

#include "catamaran/exec/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "catamaran/base/hash.h"
#include "catamaran/base/random.h"
#include "catamaran/exec/initializer.h"
#include "catamaran/exec/table_settings.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::FlatProgram;
using test::MessageOf;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::pair<double, double> MeanAndDeviation(const Tensor& t) {
  double sum = 0, squares = 0;
  for (const float x : t.data<float>()) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  const auto n = static_cast<double>(t.num_elements());
  return {sum / n, std::sqrt(squares / n - sum / n * sum / n)};
}

TEST(State, InitialisersGiveWhatTheySay) {
  const Program flat = FlatProgram(R"(program p
param @zeros : f32[3] = zeros
param @ones : bf16[2] = ones
param @number : f64[2] = 0.25
param @count : i64[1] = 9007199254740993
param @constant : f32[2] = constant(-3)
param @normal : f32[100, 100] = normal(mean=2, std=0.5)
param @uniform : f32[100, 100] = uniform(-1, 3)
param @xavier : f32[300, 100] = xavier
param @he : f32[200, 100] = he
param @weight : f32[300, 100]
param @bias : f32[100]
var @average : f32[10, 10]
)");
  const auto state = State::Create(flat, 7);
  EXPECT_TRUE(state->GetTensor("zeros").Equals(Tensor::From<float>({3}, {0, 0, 0})));
  EXPECT_EQ(static_cast<float>(state->GetTensor("ones").data<BF16>()[1]), 1);
  EXPECT_TRUE(state->GetTensor("number").Equals(Tensor::From<double>({2}, {0.25, 0.25})));
  EXPECT_EQ(state->GetTensor("count").data<int64_t>()[0], 9007199254740993);
  EXPECT_EQ(state->GetTensor("constant").data<float>()[1], -3);
  const auto [normal_mean, normal_std] = MeanAndDeviation(state->GetTensor("normal"));
  EXPECT_NEAR(normal_mean, 2, 0.02);
  EXPECT_NEAR(normal_std, 0.5, 0.01);
  const auto [uniform_mean, uniform_std] = MeanAndDeviation(state->GetTensor("uniform"));
  EXPECT_NEAR(uniform_mean, 1, 0.05);
  EXPECT_NEAR(uniform_std, 4 / std::sqrt(12.0), 0.02);
  EXPECT_NEAR(MeanAndDeviation(state->GetTensor("xavier")).second, std::sqrt(2.0 / 400), 0.002);
  EXPECT_NEAR(MeanAndDeviation(state->GetTensor("he")).second, std::sqrt(2.0 / 200), 0.002);
  EXPECT_NEAR(MeanAndDeviation(state->GetTensor("weight")).second, std::sqrt(2.0 / 400), 0.002);
  EXPECT_EQ(MeanAndDeviation(state->GetTensor("bias")).second, 0);
  EXPECT_EQ(MeanAndDeviation(state->GetTensor("average")).second, 0);
}

TEST(State, FansOfAConvolutionAreItsChannelsTimesItsWindow) {
  const Program flat = FlatProgram(R"(program p
param @he : f32[64, 32, 3, 3] = he
param @out : f32[64, 32, 3, 3] = he(fan=out)
param @xavier : f32[64, 32, 3, 3] = xavier(normal, gain=2.0)
)");
  const auto state = State::Create(flat, 7);
  const auto deviation = [&](const char* path) {
    return MeanAndDeviation(state->GetTensor(path)).second;
  };
  EXPECT_NEAR(deviation("he"), std::sqrt(2.0 / (32 * 9)), 0.002);
  EXPECT_NEAR(deviation("out"), std::sqrt(2.0 / (64 * 9)), 0.002);
  EXPECT_NEAR(deviation("xavier"), 2 * std::sqrt(2.0 / (96 * 9)), 0.002);
}

TEST(State, ATruncatedNormalStaysNearItsMean) {
  const Program flat = FlatProgram(R"(program p
param @t : f32[200, 200] = truncated_normal(std=0.5)
param @narrow : f32[1000] = truncated_normal(1.0, 0.5, cut=0.5)
)");
  const auto state = State::Create(flat, 7);
  const Tensor t = state->GetTensor("t"), narrow = state->GetTensor("narrow");
  for (float v : t.data<float>()) EXPECT_LE(std::abs(v), 1.0f);
  for (float v : narrow.data<float>()) EXPECT_LE(std::abs(v - 1), 0.25f);
  const auto [mean, deviation] = MeanAndDeviation(t);
  EXPECT_NEAR(mean, 0, 0.01);
  // Of a standard normal variable cut at 2.
  EXPECT_NEAR(deviation, 0.5 * 0.8796, 0.005);
}

TEST(State, RowsOrColumnsOfAnOrthogonalMatrixAreOrthogonal) {
  const Program flat = FlatProgram(R"(program p
param @wide : f32[5, 12] = orthogonal
param @tall : f32[12, 5] = orthogonal(gain=2.0)
param @conv : f32[4, 2, 3, 3] = orthogonal
)");
  const auto state = State::Create(flat, 7);
  const auto check = [&](const char* path, int64_t count, int64_t step, int64_t length,
                         int64_t stride, double square) {
    const Tensor t = state->GetTensor(path);
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b < count; ++b) {
        double dot = 0;
        for (int64_t i = 0; i < length; ++i) {
          dot += static_cast<double>(t.data<float>()[a * step + i * stride]) *
                 static_cast<double>(t.data<float>()[b * step + i * stride]);
        }
        EXPECT_NEAR(dot, a == b ? square : 0, 1e-5) << path;
      }
    }
  };
  check("wide", 5, 12, 12, 1, 1);
  check("tall", 5, 1, 12, 5, 4);
  check("conv", 4, 18, 18, 1, 1);
}

TEST(State, ValuesAreAFunctionOfSeedAndPath) {
  const Program flat =
      FlatProgram("program p\nparam @a : f32[5] = normal\nparam @b : f32[5] = normal\n");
  const auto first = State::Create(flat, 7), again = State::Create(flat, 7),
             other = State::Create(flat, 8);
  EXPECT_TRUE(first->GetTensor("a").Equals(again->GetTensor("a")));
  EXPECT_FALSE(first->GetTensor("a").Equals(other->GetTensor("a")));
  EXPECT_FALSE(first->GetTensor("a").Equals(first->GetTensor("b")));
}

// These bits are promised: a change of them breaks replay.
TEST(State, InitialBitsAreFrozen) {
  const Program flat = FlatProgram("program p\nparam @a : f32[2] = uniform\n");
  const auto state = State::Create(flat, 7);
  const Tensor a = state->GetTensor("a");
  const uint64_t key = HashString("a", Mix64(7));
  EXPECT_EQ(a.data<float>()[0], UniformFloat(Philox(key, 0).words[0]));
  EXPECT_EQ(a.data<float>()[1], UniformFloat(Philox(key, 0).words[1]));
}

TEST(State, MistakesInADeclarationNameItsLine) {
  const auto message = [](std::string_view declaration) {
    const Program flat = FlatProgram("program p\n\n" + std::string(declaration) + "\n");
    return MessageOf([&] { State::Create(flat, 1); });
  };
  EXPECT_THAT(message("param @w : f32[2] = gaussian(std=1)"),
              AllOf(StartsWith("test.ctm:3: @w: "), HasSubstr("no initialiser gaussian")));
  EXPECT_THAT(message("param @w : f32[2] = normal(sigma=1)"), HasSubstr("no argument sigma"));
  EXPECT_THAT(message("param @w : f32[2] = uniform(2, 1)"), HasSubstr("below low"));
  EXPECT_THAT(message("param @w : f32[2] = normal(std=-1.0)"), HasSubstr("std is negative: -1.0"));
  EXPECT_THAT(message("param @w : f32[2] = orthogonal"), HasSubstr("wants a matrix"));
  EXPECT_THAT(message("param @w : f32[2] = truncated_normal(cut=0.01)"), HasSubstr("at least 0.1"));
  EXPECT_THAT(message("param @w : i32[2] = normal"), HasSubstr("floating-point"));
  EXPECT_THAT(message("table @t : u64 -> f32[4] { admit = count(0) }"),
              StartsWith("test.ctm:3: table @t: "));
  EXPECT_THAT(message("table @t : u64 -> f32[4] { optimizer = adamm(lr=1.0) }"),
              AllOf(StartsWith("test.ctm:3: table @t: optimizer: "), HasSubstr("adam")));
  EXPECT_THAT(message("table @t : u64 -> f32[4] { size = 3 }"), HasSubstr("no such setting"));
  EXPECT_THAT(message("table @t : u64 -> f32[4] { expire = unseen(weeks=3) }"),
              HasSubstr("no argument weeks"));
}

TEST(State, TableSettingsReachTheTable) {
  const Program flat = FlatProgram(R"(program p
table @t : u64 -> f32[16] = normal(std=0.01) {
  optimizer  = rowwise_adagrad(lr=0.05)
  admit      = count(3)
  unadmitted = zeros
  expire     = unseen(days=30)
}
)");
  const auto state = State::Create(flat, 1);
  const TableConfig& config = state->table("t").config();
  EXPECT_EQ(config.width, 16);
  EXPECT_EQ(config.init.kind, TableInit::Kind::kNormal);
  EXPECT_EQ(config.init.a, 0.01);
  ASSERT_TRUE(config.optimizer.has_value());
  EXPECT_EQ(config.optimizer->fact().name, "rowwise_adagrad");
  EXPECT_EQ(config.optimizer->lr, 0.05);
  EXPECT_EQ(config.admit.count, 3);
  EXPECT_EQ(config.unadmitted, Unadmitted::kZeros);
  EXPECT_EQ(config.expire.unseen, 30 * kNanosecondsPerDay);
  EXPECT_NE(config.seed, State::Create(flat, 2)->table("t").config().seed);
}

TEST(State, WhoeverAsksForTheTurnGetsItWhileStepsGoOn) {
  const Program flat = FlatProgram("program p\nvar @n : i64[] = 0\n");
  const auto state = State::Create(flat, 1);
  std::atomic<bool> stop = false;
  std::thread trainer([&] {
    while (!stop) {  // it asks again as soon as it has given the turn back
      state->TakeTurn();
      state->FinishStep(5);
      state->GiveTurn();
    }
  });
  while (state->step() == 0) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) {
    state->TakeTurn();
    const int64_t step = state->step();
    std::this_thread::yield();
    EXPECT_EQ(state->step(), step);
    state->GiveTurn();
  }
  stop = true;
  trainer.join();
  EXPECT_EQ(state->event_time(), 5);
}

TEST(State, AWaiterWhoseDeadlinePassesLeavesTheQueue) {
  const Program flat = FlatProgram("program p\nvar @n : i64[] = 0\n");
  const auto state = State::Create(flat, 1);
  state->TakeTurn();
  EXPECT_THAT(MessageOf([&] { state->TakeTurn(state->clock().Now() + 1000); }),
              HasSubstr("the deadline passed"));
  std::thread waiter([&] {
    state->TakeTurn();
    state->GiveTurn();
  });
  EXPECT_THAT(MessageOf([&] { state->TakeTurn(state->clock().Now() + 1'000'000); }),
              HasSubstr("the deadline passed"));
  state->GiveTurn();
  waiter.join();
  state->TakeTurn();
  state->GiveTurn();
}

TEST(State, HasOneSaverAtATime) {
  const auto state = State::Create(FlatProgram("program p\nvar @n : i64[] = 0\n"), 1);
  {
    const State::Saver saver(*state);
    EXPECT_THAT(MessageOf([&] { State::Saver another(*state); }), HasSubstr("a saver already"));
  }
  const State::Saver later(*state);
}

TEST(State, TensorsAreCopiedInAndOut) {
  const Program flat = FlatProgram("program p\nparam @net.w : f32[2] = 1\nvar @n : i64[] = 0\n");
  const auto state = State::Create(flat, 1);
  const Tensor before = state->GetTensor("net.w");
  state->SetTensor("net.w", Tensor::From<float>({2}, {5, 6}));
  EXPECT_EQ(before.data<float>()[0], 1);
  EXPECT_EQ(state->GetTensor("net.w").data<float>()[1], 6);
  const auto pinned = state->Pin();
  state->SetTensor("net.w", Tensor::From<float>({2}, {7, 8}));
  EXPECT_EQ(reinterpret_cast<const float*>(pinned->data(0))[1], 6);
  EXPECT_EQ(reinterpret_cast<const float*>(state->Pin()->data(0))[1], 8);
  EXPECT_THAT(MessageOf([&] { state->SetTensor("net.w", Tensor::From<float>({1}, {5})); }),
              HasSubstr("@net.w is f32[2]; found f32[1]"));
  EXPECT_THAT(MessageOf([&] { state->GetTensor("net.q"); }), HasSubstr("did you mean @net.w?"));
  std::vector<std::string> names;
  state->ForEach([&](const StateInfo& info, const Tensor&) { names.emplace_back(info.name); });
  EXPECT_THAT(names, testing::ElementsAre("net.w", "n"));
}

}  // namespace
}  // namespace catamaran

// Training steps, made by the transforms, on real states and tables.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;
using test::MessageOf;

constexpr std::string_view kRegression = R"(program p
param @w : f32[2, 16]
param @b : f32[16] = 0
param @v : f32[16, 1]
fn loss(x: f32[B, 2], y: f32[B, 1]) -> f32[] {
  h = tanh(matmul(x, @w) + @b)
  return mean(square(matmul(h, @v) - y))
}
train = adam(clip(grad(loss), norm=1.0), lr=0.02)
)";

std::map<std::string, Tensor> XorFeeds() {
  return {{"x", F32({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})}, {"y", F32({4, 1}, {0, 1, 1, 0})}};
}

TEST(Train, AdamLearnsXorAndTheSameBitsEveryTime) {
  const Program flat = FlatProgram(kRegression);
  std::vector<Tensor> ends;
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const auto train = Compile(flat, "train", {.threads = 2, .schedule = schedule});
    const auto state = State::Create(flat, 3);
    float first = 0, last = 0;
    for (int i = 0; i < 400; ++i) {
      const RunResult result = train->Run(*state, XorFeeds());
      ASSERT_TRUE(result.committed);
      last = result.outputs[0].item<float>();
      if (i == 0) first = last;
    }
    EXPECT_GT(first, 0.1f);
    EXPECT_LT(last, 0.01f);
    EXPECT_EQ(state->step(), 400);
    ends.push_back(state->GetTensor("w"));
  }
  EXPECT_TRUE(ends[0].Equals(ends[1]));
}

TEST(Train, OptimizerSlotsAreNotVersioned) {
  const Program flat = FlatProgram(kRegression);
  const auto state = State::Create(flat, 3);
  int slots = 0;
  state->ForEach([&](const StateInfo& info, const Tensor&) {
    if (info.name.find(".m.") != info.name.npos) {
      ++slots;
      EXPECT_FALSE(info.versioned) << info.name;
    }
  });
  EXPECT_EQ(slots, 3);
}

TEST(Train, AStepThatIsNotFiniteIsRefused) {
  const Program flat = FlatProgram(kRegression);
  const auto train = Compile(flat, "train");
  const auto state = State::Create(flat, 3);
  const Tensor before = state->GetTensor("w");
  auto feeds = XorFeeds();
  feeds["y"] = F32({4, 1}, {0, INFINITY, 1, 0});
  const RunResult result = train->Run(*state, feeds);
  EXPECT_TRUE(result.refused);
  EXPECT_FALSE(result.committed);
  EXPECT_TRUE(state->GetTensor("w").Equals(before));
  EXPECT_EQ(state->step(), 0);
}

// The gradient of a loop goes through stacks.
TEST(Train, GradientsPassThroughLoops) {
  const Program flat = FlatProgram(R"(program p
param @a : f32[3] = 0.5
fn loss(x: f32[3], n: i64[]) -> f32[] {
  y = for i in range(n) with (y = x) { yield y * y * @a }
  return sum(y)
}
g = grad(loss)
)");
  const auto state = State::Create(flat, 1);
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const auto g = Compile(flat, "g", {.threads = 2, .schedule = schedule});
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto out =
          g->Run(*state, {{"x", F32({3}, {1, 2, 3})}, {"n", Tensor::Scalar<int64_t>(3)}}).outputs;
      ASSERT_EQ(out.size(), 2u);
      // y3 = a^7 x^8; dy3/da = 7 a^6 x^8.
      for (int i = 0; i < 3; ++i) {
        const double x = i + 1, expected = 7 * std::pow(0.5, 6) * std::pow(x, 8);
        EXPECT_NEAR(out[1].data<float>()[i], expected, 1e-4 * expected);
      }
    }
  }
}

constexpr std::string_view kTable = R"(program p
table @t : u64 -> f32[4] = zeros {
  optimizer = sgd(lr=1.0)
  admit = count(2)
}
fn loss(ids: u64[B, 2], label: f32[B]) -> f32[] {
  observe(@t, ids, show=1, click=label)
  e = lookup(@t, ids, pool=sum)
  return sum(square(sum(e, axes=[1]) - label))
}
train = sgd(grad(loss), lr=1.0)
)";

// Two features with equal ids share a table; the gradient of each reaches its own rows.
TEST(Train, FeaturesOfOneTableLearnApart) {
  const Program flat = FlatProgram(R"(program p
table @t : u64 -> f32[1] = zeros {
  optimizer = sgd(lr=1.0)
  features  = [user, item]
}
fn loss(ids: u64[B], label: f32[B]) -> f32[] {
  observe(@t, ids, feature=user)
  observe(@t, ids, feature=item, click=label)
  u = reshape(lookup(@t, ids, feature=user), [B])
  v = reshape(lookup(@t, ids, feature=item), [B])
  return sum(3 * u + 5 * v + 0 * label)
}
train = sgd(grad(loss), lr=1.0)
)");
  const auto state = State::Create(flat, 1);
  Compile(flat, "train")
      ->Run(*state, {{"ids", Tensor::From<uint64_t>({2}, {1, 2})}, {"label", F32({2}, {1, 0})}});
  const DurableTable& table = state->table("t");
  EXPECT_EQ(table.size(), 4);
  const auto value = [&](std::string_view feature) {
    RowClass row_class;
    std::vector<uint32_t> record(static_cast<size_t>(table.layout().of(RowClass::kFull).words));
    EXPECT_TRUE(table.Get(SaltedKey(1, FeatureSalt(feature)), &row_class, record.data()));
    return RecordFloat(record.data(), table.layout().of(RowClass::kFull).embedding);
  };
  EXPECT_EQ(value("user"), -3);
  EXPECT_EQ(value("item"), -5);
  const TableInfo info = table.Info();
  ASSERT_EQ(info.features.size(), 2u);
  EXPECT_EQ(info.features[0].rows, 2);
  EXPECT_EQ(info.features[0].clicks, 0);
  EXPECT_EQ(info.features[1].clicks, 1);
  EXPECT_EQ(info.features[1].shows, 2);
  EXPECT_THAT(MessageOf([] {
                FlatProgram(R"(program p
table @t : u64 -> f32[1] = zeros { features = [user, item] }
fn infer(ids: u64[B]) -> f32[B, 1] {
  return lookup(@t, ids, feature=shop)
}
)");
              }),
              testing::AllOf(testing::HasSubstr("test.ctm:4"),
                             testing::HasSubstr("@t has no feature shop; it has user, item")));
}

TEST(Train, ATableGetsOneApplyAStep) {
  const Program flat = FlatProgram(kTable);
  const auto state = State::Create(flat, 1);
  const auto train = Compile(flat, "train");
  const std::map<std::string, Tensor> feeds = {
      {"ids", Tensor::From<uint64_t>({2, 2}, {1, 2, 3, 4})}, {"label", F32({2}, {1, 0})}};
  RunOptions options;
  options.event_time = 1000 * kNanosecondsPerSecond;
  EXPECT_EQ(train->Run(*state, feeds, options).outputs[0].item<float>(), 1);
  EXPECT_EQ(state->table("t").size(), 0);
  options.event_time = 2000 * kNanosecondsPerSecond;
  train->Run(*state, feeds, options);
  EXPECT_EQ(state->table("t").size(), 4);
  RowClass row_class;
  std::vector<uint32_t> record(
      static_cast<size_t>(state->table("t").layout().of(RowClass::kFull).words));
  ASSERT_TRUE(state->table("t").Get(1, &row_class, record.data()));
  EXPECT_EQ(row_class, RowClass::kFull);
  EXPECT_EQ(RecordFloat(record.data(), row_words::kShow), 2);
  EXPECT_EQ(RecordFloat(record.data(), row_words::kClick), 2);
  EXPECT_EQ(record[row_words::kLastSeen], 2000u);
  // The row made in the second step has that step's gradient: d/de (0 - 1)^2 = -2.
  float row[4];
  const uint64_t key = 1;
  state->table("t").Pull({&key, 1}, row, {[](void*, std::exception_ptr) {}, nullptr});
  EXPECT_EQ(row[0], 2);
}

}  // namespace
}  // namespace catamaran

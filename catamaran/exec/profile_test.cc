#include "catamaran/exec/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "catamaran/exec/executable.h"
#include "catamaran/exec/profile_report.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;
using testing::HasSubstr;

constexpr std::string_view kNet = R"(program p
param @w : f32[2, 16]
param @b : f32[16] = 0
param @v : f32[16, 1]
fn hidden(x: f32[B, 2]) -> f32[B, 16] {
  return tanh(matmul(x, @w) + @b)
}
fn loss(x: f32[B, 2], y: f32[B, 1]) -> f32[] {
  return mean(square(matmul(hidden(x), @v) - y))
}
train = adam(grad(loss), lr=0.02)
)";

// All that a report with these limits can say.
constexpr MachineLimits kLimits = {1, 1e9, 1e9};

std::map<std::string, Tensor> XorFeeds() {
  return {{"x", F32({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})}, {"y", F32({4, 1}, {0, 1, 1, 0})}};
}

const ProfileRow* Find(const std::vector<ProfileRow>& rows, std::string_view name,
                       bool backward = false) {
  for (const ProfileRow& row : rows) {
    if (row.name.starts_with(name) && row.backward == backward) return &row;
  }
  return nullptr;
}

struct Profiled {
  std::unique_ptr<Program> flat;
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<State> state;

  Profiled(std::string_view text, std::string_view function, CompileOptions options = {},
           std::shared_ptr<const OpSet> ops = test::Ops())
      : flat(std::make_unique<Program>(FlatProgram(text, std::move(ops)))),
        executable(Compile(*flat, function, options)),
        state(State::Create(*flat, 3)) {}

  RunResult Run(Profile* profile, const std::map<std::string, Tensor>& feeds) const {
    RunOptions options;
    options.profile = profile;
    return executable->Run(*state, feeds, options);
  }
};

class ProfileOfBothSchedules : public testing::TestWithParam<Schedule> {
 protected:
  CompileOptions Options() const { return {.threads = 2, .schedule = GetParam()}; }
};

TEST_P(ProfileOfBothSchedules, EveryOpIsCountedInEveryRun) {
  const Profiled p(kNet, "train", Options());
  Profile profile({.every = 1});
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(p.Run(&profile, XorFeeds()).committed);
  const ProfileReport report = MakeReport(profile, kLimits);
  ASSERT_EQ(report.functions.size(), 1u);
  EXPECT_EQ(report.functions[0].name, "train");
  EXPECT_EQ(report.functions[0].runs, 7);
  EXPECT_EQ(report.functions[0].measured, 7);
  // Two products forward, three backward (none for x).
  double products = 0, total = 0;
  for (const ProfileRow& row : report.ops) {
    if (row.name.starts_with("matmul: ")) products += row.calls;
    total += row.seconds;
  }
  EXPECT_EQ(products, 5 * 7);
  EXPECT_NE(Find(report.ops, "publish"), nullptr);
  EXPECT_NEAR(total, report.op_seconds, 1e-9 + total * 1e-6);
  EXPECT_LE(report.op_seconds, report.run_seconds * report.functions[0].threads);
  EXPECT_GT(report.op_seconds, 0);
}

TEST_P(ProfileOfBothSchedules, ResultsAreTheSameBitsWithAndWithoutIt) {
  std::vector<Tensor> ends;
  for (const bool profiled : {false, true}) {
    const Profiled p(kNet, "train", Options());
    Trace trace;
    Profile profile({.every = 1, .trace = &trace});
    for (int i = 0; i < 20; ++i) p.Run(profiled ? &profile : nullptr, XorFeeds());
    ends.push_back(p.state->GetTensor("w"));
  }
  EXPECT_TRUE(ends[0].Equals(ends[1]));
}

TEST_P(ProfileOfBothSchedules, TheTimelineHasOpsInsideTheirRun) {
  const Profiled p(kNet, "train", Options());
  Trace trace;
  Profile profile({.every = 1, .trace = &trace});
  for (int i = 0; i < 3; ++i) p.Run(&profile, XorFeeds());
  std::string json;
  trace.WriteJson([&](std::string_view part) { json += part; });
  EXPECT_THAT(json, HasSubstr(R"("name":"train","cat":"run","ph":"X")"));
  EXPECT_THAT(json, HasSubstr(R"re("name":"matmul: )re"));
  EXPECT_THAT(json, HasSubstr(R"("cat":"backward")"));
  EXPECT_THAT(json, HasSubstr(R"("at":"test.ctm:6 in hidden")"));
}

INSTANTIATE_TEST_SUITE_P(, ProfileOfBothSchedules,
                         testing::Values(Schedule::kProgramOrder, Schedule::kReadyOps),
                         [](const auto& info) {
                           return info.param == Schedule::kReadyOps ? "ReadyOps" : "ProgramOrder";
                         });

TEST(Profile, GradientsAreCountedAtTheLineTheyAreTheGradientOf) {
  const Profiled p(kNet, "train");
  Profile profile({.every = 1});
  p.Run(&profile, XorFeeds());
  const ProfileReport report = MakeReport(profile, kLimits);
  const ProfileRow* forward = Find(report.lines, "test.ctm:6");
  const ProfileRow* backward = Find(report.lines, "test.ctm:6", true);
  ASSERT_NE(forward, nullptr);
  ASSERT_NE(backward, nullptr);
  EXPECT_EQ(forward->text, "return tanh(matmul(x, @w) + @b)");
  EXPECT_EQ(forward->operations, 2 * 4 * 2 * 16 + 2 * 4 * 16);  // product, sum, tanh
  EXPECT_GT(backward->operations, 0);
  EXPECT_NE(Find(report.layers, "hidden"), nullptr);
  EXPECT_NE(Find(report.layers, "hidden", true), nullptr);
  EXPECT_NE(Find(report.layers, "loss"), nullptr);
  // The optimizer is no gradient.
  const ProfileRow* optimizer = Find(report.layers, "train");
  ASSERT_NE(optimizer, nullptr);
  EXPECT_EQ(Find(report.lines, "test.ctm:11")->text, "train = adam(grad(loss), lr=0.02)");
}

TEST(Profile, TheInsideOfALoopIsCountedOnceAnIteration) {
  const Profiled p(R"(program p
fn f(x: f32[4]) -> f32[4] {
  y = for i in range(5) with (h = x) {
    yield test_negate(h)
  }
  return y
}
)",
                   "f");
  Profile profile({.every = 1});
  for (int i = 0; i < 3; ++i) p.Run(&profile, {{"x", F32({4}, {1, 2, 3, 4})}});
  const ProfileReport report = MakeReport(profile, kLimits);
  ASSERT_NE(Find(report.ops, "test_negate"), nullptr);
  EXPECT_EQ(Find(report.ops, "test_negate")->calls, 15);
  ASSERT_NE(Find(report.ops, "for"), nullptr);
  EXPECT_EQ(Find(report.ops, "for")->calls, 3);
}

TEST(Profile, WhereOpsAreTinySomeRunsStandForAll) {
  std::string text = "program p\nfn f(x0: f32[2]) -> f32[2] {\n";
  for (int i = 0; i < 500; ++i) text += fmt::format("  x{} = test_negate(x{})\n", i + 1, i);
  const Profiled p(text + "  return x500\n}\n", "f");
  Profile profile;
  for (int i = 0; i < 300; ++i) p.Run(&profile, {{"x0", F32({2}, {1, 2})}});
  const ProfileReport report = MakeReport(profile, kLimits);
  EXPECT_EQ(report.functions[0].runs, 300);
  EXPECT_GE(report.functions[0].measured, 1);
  EXPECT_LT(report.functions[0].measured, 150);
  EXPECT_NEAR(Find(report.ops, "test_negate")->calls, 500 * 300, 1);
}

// Completes on another thread, some time after it has returned.
KernelStatus CompleteLater(KernelContext& c) {
  std::thread([&c] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    c.out().data<float>()[0] = c.in(0).data<float>()[0];
    c.Complete();
  }).detach();
  return KernelStatus::kPending;
}

TEST(Profile, AnOpThatCompletesLaterIsWaitedForAndDoesNotCompute) {
  const auto ops = test::Ops();
  ops->Define("test_late")
      .In("x")
      .Infer([](InferContext& c) { c.SetResult(c.type(0)); })
      .Reference("", &CompleteLater);
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const Profiled p(
        "program p\nfn f(x: f32[1]) -> f32[1] {\n  return test_negate(test_late(x))\n}\n", "f",
        {.threads = 2, .schedule = schedule}, ops);
    Profile profile({.every = 1});
    EXPECT_EQ(p.Run(&profile, {{"x", F32({1}, {2})}}).outputs[0].item<float>(), -2);
    const ProfileReport report = MakeReport(profile, kLimits);
    const ProfileRow* late = Find(report.ops, "test_late");
    ASSERT_NE(late, nullptr);
    EXPECT_EQ(late->calls, 1);
    EXPECT_GE(late->waiting, 0.005);
    EXPECT_GE(report.waiting_seconds, late->waiting);
    EXPECT_LT(late->seconds, late->waiting + 0.03);
  }
}

TEST(Profile, RunsThatFailAreCountedAndLaterOnesGoOn) {
  const Profiled p("program p\nfn f(x: f32[1]) -> f32[1] {\n  return test_positive(x)\n}\n", "f");
  Profile profile({.every = 1});
  EXPECT_THROW(p.Run(&profile, {{"x", F32({1}, {-1})}}), Error);
  p.Run(&profile, {{"x", F32({1}, {1})}});
  p.Run(nullptr, {{"x", F32({1}, {1})}});
  EXPECT_EQ(MakeReport(profile, kLimits).functions[0].runs, 2);
}

TEST(Profile, CostsAreThoseOfEachRunsSizes) {
  const Profiled p("program p\nfn f(x: f32[B, *T]) -> f32[B, *T] {\n  return exp(x)\n}\n", "f");
  Profile profile({.every = 1});
  const auto run = [&](int64_t size) {
    const Tensor values = Tensor::Zeros(DType::kF32, {size});
    const Tensor offsets = Tensor::From<int64_t>({2}, {0, size});
    p.Run(&profile, {{"x", values}, {"x.offsets", offsets}});
  };
  run(10);
  run(30);
  const ProfileReport report = MakeReport(profile, kLimits);
  ASSERT_NE(Find(report.ops, "exp"), nullptr);
  EXPECT_EQ(Find(report.ops, "exp")->bytes, (10 + 30) * 2 * 4);
}

TEST(Profile, ATablesPartOfAStepIsShownAtTheLineOfItsPush) {
  const Profiled p(R"(program p
table @t : u64 -> f32[4] = 0.5 {
  optimizer = sgd(lr=0.1)
}
fn loss(ids: u64[B]) -> f32[] {
  return mean(square(lookup(@t, ids)))
}
train = sgd(grad(loss), lr=0.1)
)",
                   "train");
  Profile profile({.every = 1});
  p.Run(&profile, {{"ids", Tensor::From<uint64_t>({3}, {1, 2, 3})}});
  const ProfileReport report = MakeReport(profile, kLimits);
  ASSERT_NE(Find(report.ops, "apply @t"), nullptr);
  EXPECT_EQ(Find(report.ops, "apply @t")->calls, 1);
}

TEST(Profile, PhasesAreWhatHappensBetweenRuns) {
  Profile profile;
  for (int i = 0; i < 3; ++i) {
    const ProfilePhase phase(&profile, "data", true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  { const ProfilePhase phase(&profile, "commit"); }
  { const ProfilePhase phase(nullptr, "nothing"); }
  const ProfileReport report = MakeReport(profile, kLimits);
  ASSERT_EQ(report.phases.size(), 2u);
  EXPECT_EQ(report.phases[0].name, "data");
  EXPECT_EQ(report.phases[0].count, 3u);
  EXPECT_GE(report.phase_seconds[0], 0.005);
  EXPECT_EQ(report.waiting_seconds, report.phase_seconds[0]);
  EXPECT_LE(report.waiting_seconds, report.seconds);
}

TEST(MachineLimits, AreAboveZeroAndBoundTheTime) {
  const MachineLimits limits = MeasureMachineLimits(1);
  EXPECT_GT(limits.flops, 1e8);
  EXPECT_GT(limits.bytes_second, 1e8);
  EXPECT_DOUBLE_EQ(LeastSeconds({1, 1e9, 1e10}, 2e9, 1e10), 2);
  EXPECT_DOUBLE_EQ(LeastSeconds({1, 1e9, 1e10}, 2e9, 4e10), 4);
}

}  // namespace
}  // namespace catamaran

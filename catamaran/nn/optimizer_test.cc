// Optimizers as programs use them: builders around a gradient, run on a state.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/nn/program_test_util.h"
#include "catamaran/table/optimizer_goldens_test_util.h"
#include "catamaran/table/optimizers.h"

namespace catamaran {
namespace {

using Feeds = TestProgram::Feeds;

std::string Message(std::string_view text) {
  try {
    TestProgram program(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// One param @w : f64[2], whose gradient is fed.
std::string OneParam(const std::string& train, const std::string& more = "") {
  return fmt::format(R"(program p
param @w : f64[2] = 1
fn loss(g: f64[2]) -> f64[] {{ return sum(@w * g) }}
{}
train = {}
)",
                     more, train);
}
Feeds Gradient(double a, double b) { return {{"g", Tensor::From<double>({2}, {a, b})}}; }
double At(TestProgram& p, const std::string& state, size_t i = 0) {
  return p.state().GetTensor(state).data<double>()[i];
}

TEST(Optimizers, TrainToTheNumbersOfPyTorchAndNumPy) {
  const OptimizerGoldens goldens = ReadOptimizerGoldens();
  for (const GoldenCase& c : goldens.cases) {
    std::string settings;
    for (const auto& [name, value] : c.settings) {
      const bool flag = name == "nesterov" || name == "centered";
      settings += fmt::format(", {}={}", name, flag ? "true" : FormatDouble(value));
    }
    TestProgram p(fmt::format(R"(program p
param @a : f64[5, 3] = 0
param @b : f64[7] = 0
param @c : f64[2, 2] = 0
fn loss(ga: f64[5, 3], gb: f64[7], gc: f64[2, 2]) -> f64[] {{
  return sum(@a * ga) + sum(@b * gb) + sum(@c * gc)
}}
train = {}(grad(loss){})
)",
                              c.rule, settings));
    const char* names[] = {"a", "b", "c"};
    const auto tensor = [&](size_t i, const std::vector<double>& values) {
      return Tensor::FromVector(values).Reshape(Shape(goldens.params[i].shape));
    };
    for (size_t i = 0; i < 3; ++i) {
      p.state().SetTensor(names[i], tensor(i, goldens.params[i].start));
    }
    for (size_t step = 0; step < 10; ++step) {
      Feeds feeds;
      for (size_t i = 0; i < 3; ++i) {
        feeds[std::string("g") + names[i]] = tensor(i, goldens.params[i].gradients[step]);
      }
      ASSERT_TRUE(p.Run("train", feeds).committed);
    }
    for (size_t i = 0; i < 3; ++i) {
      for (size_t k = 0; k < c.ends[i].size(); ++k) {
        EXPECT_NEAR(At(p, names[i], k), c.ends[i][k], 1e-12) << c.name << " " << names[i] << k;
      }
    }
    EXPECT_EQ(p.state().GetTensor("train.step").item<int64_t>(), 10);
  }
}

TEST(Schedules, GiveTheNumbersOfPyTorch) {
  const OptimizerGoldens goldens = ReadOptimizerGoldens();
  ASSERT_GE(goldens.schedules.size(), 10u);
  for (const GoldenSchedule& s : goldens.schedules) {
    TestProgram p(fmt::format("program p\nlr = {}\n", s.call));
    for (size_t t = 0; t < s.rates.size(); ++t) {
      const Feeds step = {{"step", Tensor::Scalar(static_cast<int64_t>(t))}};
      EXPECT_NEAR(p.Scalar("lr", step), s.rates[t], 1e-14) << s.call << " at " << t;
    }
  }
}

TEST(Schedules, AreLearningRatesByCallByNameAndAsFunctions) {
  const std::string own = "fn own(step: i64[]) -> f32[] { return 1.0 / cast(step + 1, f32) }";
  // The sum of the rates of three updates, with gradients of 1.
  const auto moved = [](const std::string& train, const std::string& more) {
    TestProgram p(OneParam(train, more));
    for (int i = 0; i < 3; ++i) p.Run("train", Gradient(1, 0));
    return 1 - At(p, "w");
  };
  EXPECT_NEAR(moved("sgd(grad(loss), lr=0.5)", ""), 1.5, 1e-15);
  EXPECT_NEAR(moved("sgd(grad(loss), lr=polynomial(0.5, steps=2))", ""), 0.75, 1e-15);
  EXPECT_NEAR(moved("sgd(grad(loss), lr=slow)", "slow = stepwise(0.5, every=1, factor=0.5)"), 0.875,
              1e-15);
  EXPECT_NEAR(moved("sgd(grad(loss), lr=own)", own), 1 + 0.5 + 1.0 / 3, 1e-7);
  const std::string reads =
      "var @scale : f32[] = 0.25\n"
      "fn own(step: i64[]) -> f32[] { return @scale }";
  EXPECT_NEAR(moved("sgd(grad(loss), lr=own)", reads), 0.75, 1e-15);
  // Through a builder written in text: a number and a schedule.
  const std::string fit =
      "builder fit(f: function, rate: float, how: function) {\n"
      "  a = sgd(grad(f), lr=rate)\n  b = sgd(grad(f), lr=how)\n"
      "  fn (g: f64[2]) -> f64[] { return b(g) }\n}";
  EXPECT_NEAR(moved("fit(loss, 0.5, how=polynomial(0.5, steps=2))", fit), 0.75, 1e-15);
  EXPECT_NEAR(moved("sgd(grad(loss), lr=warmup(own, steps=2))", own), 0.5 + 1 + 1, 1e-7);
}

TEST(Schedules, MistakesAreNamed) {
  EXPECT_NE(Message(OneParam("sgd(grad(loss), lr=loss)")).find("loss is not"), std::string::npos);
  EXPECT_NE(Message(OneParam("sgd(grad(loss), lr=-0.1)")).find("negative"), std::string::npos);
  EXPECT_NE(Message(OneParam("sgd(grad(loss), lr=true)")).find("expected a number"),
            std::string::npos);
  EXPECT_NE(Message(OneParam("sgd(grad(loss), lr=cosine(0.1, steps=5, warmup=5))"))
                .find("must be above 5"),
            std::string::npos);
  EXPECT_NE(Message(OneParam("sgd(3, lr=0.1)")).find("expected a function"), std::string::npos);
  EXPECT_NE(Message(OneParam("adam(grad(loss), beta1=1.0)")).find("below 1"), std::string::npos);
}

TEST(Optimizers, NoDecayLeavesOutWhatItLists) {
  const auto text = [](const std::string& list) {
    return fmt::format(R"(program p
param @w : f64[2] = 1
param @b : f64[2] = 1
param @other : f64[2] = 1
fn loss(g: f64[2]) -> f64[] {{ return sum((@w + @b) * g) }}
train = adamw(grad(loss), lr=0.1, weight_decay=0.5, no_decay={})
)",
                       list);
  };
  TestProgram p(text("[@b]"));
  p.Run("train", Gradient(0, 0));
  EXPECT_NEAR(At(p, "w"), 0.95, 1e-15);
  EXPECT_EQ(At(p, "b"), 1);
  EXPECT_NE(Message(text("3")).find("list of states"), std::string::npos);
  EXPECT_NE(Message(text("[@nothing]")).find("@nothing"), std::string::npos);
  EXPECT_NE(Message(text("[@other]")).find("returns no gradient"), std::string::npos);
}

TEST(Clip, ByValueByParamAndByTheGlobalNorm) {
  const auto clipped = [](const std::string& how) {
    TestProgram p(fmt::format(R"(program p
param @a : f64[2] = 0
param @b : f64[2] = 0
fn loss(x: f64[2], y: f64[2]) -> f64[] {{ return sum(@a * x) + sum(@b * y) }}
g = clip(grad(loss), {})
)",
                              how));
    const auto out = p.Run("g", {{"x", Tensor::From<double>({2}, {3, -4})},
                                 {"y", Tensor::From<double>({2}, {0, 12})}})
                         .outputs;
    std::vector<double> all;
    for (int i : {1, 2}) {
      for (double v : out[static_cast<size_t>(i)].data<double>()) all.push_back(v);
    }
    return all;
  };
  const auto expect = [](const std::vector<double>& got, const std::vector<double>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
  };
  expect(clipped("value=3.5"), {3, -3.5, 0, 3.5});
  expect(clipped("param_norm=6"), {3, -4, 0, 6});
  expect(clipped("norm=6.5"), {1.5, -2, 0, 6});
  expect(clipped("norm=100"), {3, -4, 0, 12});
  expect(clipped("value=4, param_norm=4"), {2.4, -3.2, 0, 4});
  EXPECT_NE(Message(OneParam("sgd(clip(grad(loss)))")).find("norm, param_norm or value"),
            std::string::npos);
  EXPECT_NE(Message(OneParam("sgd(clip(grad(loss), value=0))")).find("above 0"), std::string::npos);
}

TEST(Accumulate, UpdatesWithTheMeanInEveryLastRun) {
  TestProgram p(OneParam("adam(accumulate(grad(loss), 3), lr=0.1)"));
  TestProgram whole(OneParam("adam(grad(loss), lr=0.1)"));
  for (int round = 0; round < 3; ++round) {
    const double w = At(p, "w");
    p.Run("train", Gradient(1, 2));
    p.Run("train", Gradient(2, -7));
    EXPECT_EQ(At(p, "w"), w);
    EXPECT_EQ(p.state().GetTensor("train.step").item<int64_t>(), round);
    const RunResult last = p.Run("train", Gradient(3, 2));
    EXPECT_EQ(last.outputs.size(), 1u);  // `ready` is not passed on
    whole.Run("train", Gradient(2, -1));
    EXPECT_NEAR(At(p, "w", 0), At(whole, "w", 0), 1e-12);
    EXPECT_NEAR(At(p, "w", 1), At(whole, "w", 1), 1e-12);
    EXPECT_EQ(p.state().GetTensor("train.step").item<int64_t>(), round + 1);
  }
}

TEST(Accumulate, GoesThroughClipAndARefusedRunIsNotCounted) {
  TestProgram p(OneParam("sgd(clip(accumulate(grad(loss), 2), norm=1), lr=1.0)"));
  p.Run("train", Gradient(6, 0));
  EXPECT_TRUE(p.Run("train", Gradient(NAN, 0)).refused);
  EXPECT_EQ(At(p, "w"), 1);
  p.Run("train", Gradient(0, 8));  // the mean is (3, 4), clipped to (0.6, 0.8)
  EXPECT_NEAR(At(p, "w", 0), 0.4, 1e-7);
  EXPECT_NEAR(At(p, "w", 1), 0.2, 1e-7);
}

TEST(Accumulate, SparseGradientsOfParamsAddUp) {
  TestProgram p(R"(program p
param @e : f32[4, 2] = 0
fn loss(ids: i64[B], g: f32[B, 2]) -> f32[] { return sum(embedding(@e, ids) * g) }
train = sgd(accumulate(grad(loss), 2), lr=1.0)
)");
  const Tensor g = Tensor::From<float>({2, 2}, {2, 4, 6, 8});
  p.Run("train", {{"ids", Tensor::From<int64_t>({2}, {1, 1})}, {"g", g}});
  p.Run("train", {{"ids", Tensor::From<int64_t>({2}, {1, 3})}, {"g", g}});
  EXPECT_TRUE(
      p.state().GetTensor("e").Equals(Tensor::From<float>({4, 2}, {0, 0, -5, -8, 0, 0, -3, -4})));
}

TEST(Ema, FollowsTheUpdatedParams) {
  for (const bool corrected : {false, true}) {
    TestProgram p(
        OneParam(
            fmt::format("ema(sgd(grad(loss), lr=1.0), decay=0.75, bias_correction={})", corrected),
            "fn infer() -> f64[] { return sum(@w) }") +
        "smooth = with_average(infer, train)\n");
    double plain = 0, weighted = 0, total = 0, w = 1;
    for (int t = 1; t <= 5; ++t) {
      ASSERT_TRUE(p.Run("train", Gradient(t, 0)).committed);
      w -= t;
      plain = t == 1 ? w : 0.75 * plain + 0.25 * w;
      weighted = 0.75 * weighted + 0.25 * w;
      total = 0.75 * total + 0.25;
      EXPECT_EQ(At(p, "w"), w);
      const double want = corrected ? weighted / total : plain;
      EXPECT_NEAR(At(p, "train.avg.w"), want, 1e-12);
      EXPECT_EQ(At(p, "train.avg.w", 1), 1);
      EXPECT_NEAR(p.Scalar("smooth"), want + 1, 1e-12);
      EXPECT_NEAR(p.Scalar("infer"), w + 1, 1e-12);
    }
    // A refused step averages nothing.
    const double before = At(p, "train.avg.w");
    EXPECT_TRUE(p.Run("train", Gradient(NAN, 0)).refused);
    EXPECT_EQ(At(p, "train.avg.w"), before);
    EXPECT_EQ(p.state().GetTensor("train.count").item<int64_t>(), 5);
  }
}

TEST(Ema, CountsUpdatesNotRunsThatOnlyAddUp) {
  TestProgram p(OneParam("ema(adam(accumulate(grad(loss), 2), lr=0.1), decay=0.75)"));
  TestProgram whole(OneParam("ema(adam(grad(loss), lr=0.1), decay=0.75)"));
  for (int t = 0; t < 3; ++t) {
    p.Run("train", Gradient(1, 2));
    p.Run("train", Gradient(3, -4));
    whole.Run("train", Gradient(2, -1));
    EXPECT_NEAR(At(p, "train.avg.w", 0), At(whole, "train.avg.w", 0), 1e-12);
    EXPECT_NEAR(At(p, "train.avg.w", 1), At(whole, "train.avg.w", 1), 1e-12);
  }
  EXPECT_EQ(p.state().GetTensor("train.count").item<int64_t>(), 3);
}

TEST(Ema, MistakesAreNamed) {
  const std::string infer = "fn infer() -> f64[] { return sum(@w) }";
  EXPECT_NE(Message(OneParam("sgd(grad(loss))", infer) + "x = with_average(infer, train)\n")
                .find("keeps no averages"),
            std::string::npos);
  EXPECT_NE(Message(OneParam("ema(loss)")).find("changes no param"), std::string::npos);
  EXPECT_NE(Message(OneParam("ema(sgd(grad(loss)), decay=1.0)")).find("below 1"),
            std::string::npos);
  EXPECT_NE(Message(OneParam("ema(sgd(grad(loss)))", "fn other(x: f64[]) -> f64[] { return x }") +
                    "x = with_average(other, train)\n")
                .find("reads no param"),
            std::string::npos);
}

TEST(Optimizers, TablesFollowAScheduleOfTheirOwn) {
  TestProgram p(R"(program p
table @t : u64 -> f32[1] = zeros { optimizer = sgd(lr=1.0) }
fn loss(ids: u64[B], g: f32[B, 1]) -> f32[] { return sum(lookup(@t, ids) * g) }
train = sgd(grad(loss), lr=0.1, table_scale=stepwise(1.0, every=1, factor=0.5))
fn infer(ids: u64[B]) -> f32[B, 1] { return lookup(@t, ids) }
)");
  const Feeds feeds = {{"ids", Tensor::From<uint64_t>({1}, {7})},
                       {"g", Tensor::From<float>({1, 1}, {1})}};
  for (const float want : {-1.0f, -1.5f, -1.75f}) {
    p.Run("train", feeds);
    EXPECT_EQ(p.Run("infer", {{"ids", feeds.at("ids")}}).outputs[0].data<float>()[0], want);
  }
}

TEST(Optimizers, ExpandedProgramsReadBackEqual) {
  TestProgram p(
      OneParam("ema(adamw(clip(accumulate(grad(loss), 2), norm=1, value=2.5), "
               "lr=one_cycle(0.1, steps=9), no_decay=[@w]))"));
  const std::string printed = Print(p.flat());
  const Program again =
      Flatten(Parse(printed, "printed.ctm", p.flat().ops_ptr(), p.builders()), p.builders());
  std::string why;
  EXPECT_TRUE(Equal(again, p.flat(), &why)) << why << "\n" << printed;
}

TEST(TrainingDoc, ExamplesAreProgramsAndEveryOptimizerIsThere) {
  const char* root = std::getenv("CATAMARAN_SOURCE_DIR");
  const std::string text =
      PosixFileSystem().ReadAll(JoinPath(root ? root : ".", "docs/training.md"));
  int examples = 0;
  constexpr std::string_view kOpen = "```ctm\n";
  for (size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    const std::string program = text.substr(at, text.find("```", at) - at);
    EXPECT_EQ(Message(program), "nothing was thrown") << program;
    ++examples;
  }
  EXPECT_EQ(examples, 3);
  for (const OptimizerFact& fact : Optimizers()) {
    EXPECT_NE(text.find(fmt::format("| `{}` |", fact.name)), std::string::npos) << fact.name;
  }
}

}  // namespace
}  // namespace catamaran

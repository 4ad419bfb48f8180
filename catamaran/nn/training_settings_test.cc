// Freezing, settings of groups of params, schedules that watch a metric, and means of weights.

#include "catamaran/nn/layer_test_util.h"
#include "catamaran/transform/state_selection.h"

namespace catamaran {
namespace {

using Feeds = TestProgram::Feeds;

constexpr const char* kNet = R"(program t
a = linear(2, 3)
b = linear(3, 1)
fn loss(x: f32[B, 2]) -> f32[] { return mean(square(b(tanh(a(x))))) }
)";

TEST(PathPatterns, AStarIsAnyText) {
  EXPECT_TRUE(MatchesPattern("b1.*", "b1.attn.q.w"));
  EXPECT_TRUE(MatchesPattern("*.b", "b1.attn.q.b"));
  EXPECT_TRUE(MatchesPattern("*.attn.*.w", "b1.attn.q.w"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("*a*ab", "aaab"));
  EXPECT_FALSE(MatchesPattern("b1.*", "b10.w"));
  EXPECT_FALSE(MatchesPattern("*.b", "b1.bn"));
  EXPECT_FALSE(MatchesPattern("a", "ab"));
}

TEST(Freeze, StatesHaveNoGradientNoSlotAndStay) {
  TestProgram p(std::string(kNet) + "train = adam(grad(loss, freeze=[\"a.*\", @b.b]), lr=0.1)\n");
  const Tensor a = p.state().GetTensor("a.w"), bb = p.state().GetTensor("b.b");
  const Tensor bw = p.state().GetTensor("b.w");
  p.Run("train", {{"x", RandomTensor(Shape({4, 2}), 1)}});
  EXPECT_TRUE(p.state().GetTensor("a.w").Equals(a));
  EXPECT_TRUE(p.state().GetTensor("b.b").Equals(bb));
  EXPECT_FALSE(p.state().GetTensor("b.w").Equals(bw));
  EXPECT_EQ(p.flat().items.FindState("train.m.a.w"), nullptr);
  EXPECT_EQ(p.flat().items.FindState("train.m.b.b"), nullptr);
  EXPECT_NE(p.flat().items.FindState("train.m.b.w"), nullptr);
  // Nothing is computed for what lies before the frozen part.
  int products = 0;
  ForEachOp(p.flat().items.FindFunction("train.grad")->body(),
            [&](Op& op) { products += op.Is("matmul") || op.Is("matmul_leading"); });
  EXPECT_EQ(products, 3);
}

TEST(Freeze, AnEntryThatMeansNothingIsAMistake) {
  const std::string error =
      ErrorOf(std::string(kNet) + "train = sgd(grad(loss, freeze=[\"c.*\"]), lr=0.1)\n");
  EXPECT_NE(error.find("test.ctm:5"), std::string::npos) << error;
  EXPECT_NE(error.find("freeze lists \"c.*\", but loss reads no such param"), std::string::npos)
      << error;
  EXPECT_NE(ErrorOf(std::string(kNet) + "g = grad(loss, freeze=[\"*\"])\n")
                .find("everything that loss reads is frozen"),
            std::string::npos);
  EXPECT_NE(ErrorOf(std::string(kNet) + "g = grad(loss, wrt=[@a.w], freeze=[@b.w])\n")
                .find("wrt or freeze, not both"),
            std::string::npos);
}

TEST(Groups, ScaleTheRateAndReplaceTheDecay) {
  const Feeds feeds = {{"x", RandomTensor(Shape({4, 2}), 1)}};
  // sgd: w' = w - lr (g + decay w). Runs of single settings say what each state should be.
  const auto after = [&](const char* train, const char* path) {
    TestProgram p(std::string(kNet) + train);
    p.Run("train", feeds);
    return StateDoubles(p, path);
  };
  const char* mixed =
      "train = sgd(grad(loss), lr=0.1, weight_decay=0.5, no_decay=[\"*.b\"],\n"
      "  groups=[group(\"a.*\", lr_scale=0.1), group([@b.w], weight_decay=0.25)])\n";
  ExpectNear(after(mixed, "a.w"),
             after("train = sgd(grad(loss), lr=0.01, weight_decay=0.5)\n", "a.w"));
  ExpectNear(after(mixed, "a.b"), after("train = sgd(grad(loss), lr=0.01)\n", "a.b"));
  ExpectNear(after(mixed, "b.w"),
             after("train = sgd(grad(loss), lr=0.1, weight_decay=0.25)\n", "b.w"));
  ExpectNear(after(mixed, "b.b"), after("train = sgd(grad(loss), lr=0.1)\n", "b.b"));
}

TEST(Groups, AreChecked) {
  const auto error = [&](const char* train) { return ErrorOf(std::string(kNet) + train); };
  EXPECT_NE(error("train = sgd(grad(loss), groups=[group(\"c.*\", lr_scale=0.1)])\n")
                .find("groups lists \"c.*\", of which train.grad returns no gradient"),
            std::string::npos);
  EXPECT_NE(error("train = sgd(grad(loss), groups=[group(\"a.*\", momentum=0.1)])\n")
                .find("found momentum"),
            std::string::npos);
  EXPECT_NE(error("train = sgd(grad(loss), groups=[\"a.*\"])\n").find("groups lists groups"),
            std::string::npos);
}

TEST(Groups, ScaleTheRateOfTables) {
  const auto moved = [&](const char* groups) {
    TestProgram p(fmt::format(R"(program t
table @t : u64 -> f32[1] = zeros {{ optimizer = sgd(lr=1.0) }}
fn loss(ids: u64[B]) -> f32[] {{ return sum(lookup(@t, ids)) }}
train = sgd(grad(loss), lr=0.1{})
fn read(ids: u64[B]) {{ return sum(lookup(@t, ids)) }}
)",
                              groups));
    const Feeds ids = {{"ids", Tensor::From<uint64_t>(Shape({1}), {5})}};
    p.Run("train", ids);
    return p.Scalar("read", ids);
  };
  EXPECT_FLOAT_EQ(static_cast<float>(moved("")), -1);
  EXPECT_FLOAT_EQ(static_cast<float>(moved(", groups=[group(@t, lr_scale=0.25)]")), -0.25f);
}

TEST(Plateau, FallsWhenTheMetricHasNotGotBetterForLong) {
  TestProgram p(R"(program t
param @w : f32[]
fn loss() -> f32[] { return @w * 1.0 }
rate = plateau(0.5, factor=0.1, patience=1, cooldown=1, end=0.004)
train = sgd(grad(loss), lr=rate)
fn now() { return cast(rate(@train.step), f32) }
)");
  const auto observe = [&](float metric) {
    const RunResult r = p.Run("rate.observe", {{"loss", Tensor::From<float>(Shape(), {metric})}});
    const double now = p.Scalar("now");
    EXPECT_NEAR(r.outputs[0].data<double>()[0], now, 1e-6);
    return now;
  };
  EXPECT_FLOAT_EQ(static_cast<float>(p.Scalar("now")), 0.5f);
  EXPECT_NEAR(observe(3), 0.5, 1e-6);
  EXPECT_NEAR(observe(2), 0.5, 1e-6);
  EXPECT_NEAR(observe(2), 0.5, 1e-6);           // one without a better one
  EXPECT_NEAR(observe(1.9999f), 0.5e-1, 1e-6);  // two: by less than the threshold
  EXPECT_NEAR(observe(5), 0.5e-1, 1e-6);        // rests
  EXPECT_NEAR(observe(5), 0.5e-1, 1e-6);
  EXPECT_NEAR(observe(1), 0.5e-1, 1e-6);  // better: counts anew
  EXPECT_NEAR(observe(std::nanf("")), 0.5e-1, 1e-6);
  EXPECT_NEAR(observe(1), 0.5e-2, 1e-6);
  EXPECT_NEAR(observe(1), 0.5e-2, 1e-6);
  EXPECT_NEAR(observe(1), 0.5e-2, 1e-6);
  EXPECT_NEAR(observe(1), 0.4e-2, 1e-6);  // the end
  // And the optimizer uses it.
  const float before = p.state().GetTensor("w").data<float>()[0];
  p.Run("train");
  EXPECT_NEAR(p.state().GetTensor("w").data<float>()[0], before - 0.004f, 1e-6);
}

TEST(Plateau, OfAMetricThatShouldRise) {
  TestProgram p("program t\nrate = plateau(1.0, patience=0, metric=\"auc\", better=\"higher\")\n");
  const auto observe = [&](float metric) {
    return p.Run("rate.observe", {{"auc", Tensor::From<float>(Shape(), {metric})}})
        .outputs[0]
        .data<double>()[0];
  };
  EXPECT_DOUBLE_EQ(observe(0.5f), 1);
  EXPECT_DOUBLE_EQ(observe(0.6f), 1);
  EXPECT_DOUBLE_EQ(observe(0.4f), 0.1);
}

TEST(Swa, IsTheMeanOfTheLaterSteps) {
  TestProgram p(R"(program t
param @w : f32[] = 1.0
fn loss() -> f32[] { return @w * 1.0 }
train = swa(sgd(grad(loss), lr=1.0), start=1, every=2)
fn infer() -> f32[] { return @w * 1.0 }
smooth = with_average(infer, train)
)");
  // After step t, w = 1 - t. Steps 3, 5, 7, … count.
  const double wanted[] = {0, -1, -2, -2, -3, -3, -4};
  for (const double mean : wanted) {
    p.Run("train");
    EXPECT_NEAR(p.Scalar("smooth"), mean, 1e-6);
  }
}

}  // namespace
}  // namespace catamaran

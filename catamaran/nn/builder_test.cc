// Builders as one mechanism: layers, transforms and users' own, and the paths of their state.

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

std::vector<std::string> Paths(const Program& flat) {
  std::vector<std::string> paths;
  for (const StateDecl* s : flat.States()) paths.push_back(s->name + " " + s->type.ToString());
  return paths;
}

TEST(Builder, UsersOwnHasStateAndLayersUnderItsName) {
  TestProgram p(R"(program t
builder block(D: int, scale: float = 0.5) {
  fc = linear(D, D)
  param @s : f32[D] = ones
  fn (x: f32[B, D]) -> f32[B, D] { return x + fc(x) * @s * scale }
}
b1 = block(4)
b2 = block(4, scale=2.0)
fn infer(x: f32[B, 4]) -> f32[B, 4] { return b2(b1(x)) }
)");
  EXPECT_EQ(Paths(p.flat()),
            (std::vector<std::string>{"b1.fc.w f32[4, 4]", "b1.fc.b f32[4]", "b1.s f32[4]",
                                      "b2.fc.w f32[4, 4]", "b2.fc.b f32[4]", "b2.s f32[4]"}));
  const Tensor x = Tensor::From<float>(Shape({1, 4}), std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(p.Run("infer", {{"x", x}}).outputs[0].shape(), Shape({1, 4}));
}

TEST(Builder, TakesAFunctionAsArgument) {
  TestProgram p(R"(program t
fn double(x: f32[N]) -> f32[N] { return x * 2.0 }
builder twice(f: function) {
  fn (x: f32[N]) -> f32[N] { return f(f(x)) }
}
four = twice(double)
)");
  const Tensor x = Tensor::From<float>(Shape({2}), std::vector<float>{1, -3});
  EXPECT_TRUE(p.Run("four", {{"x", x}})
                  .outputs[0]
                  .Equals(Tensor::From<float>(Shape({2}), std::vector<float>{4, -12})));
}

TEST(Builder, AnonymousOnesTakeTheirBuildersName) {
  TestProgram p(R"(program t
fc = linear(3, 1)
fn loss(x: f32[B, 3]) -> f32[] { return mean(fc(x)) }
train = momentum(clip(grad(loss), norm=1.0), lr=0.1)
)");
  EXPECT_NE(p.flat().items.FindFunction("train.clip.grad"), nullptr);
  EXPECT_NE(p.flat().items.FindFunction("train.clip"), nullptr);
  EXPECT_EQ(Paths(p.flat()),
            (std::vector<std::string>{"fc.w f32[3, 1]", "fc.b f32[1]", "train.step i64[]",
                                      "train.v.fc.w f32[3, 1]", "train.v.fc.b f32[1]"}));
}

TEST(Builder, TwoEqualNamesAskForAnother) {
  const std::string error = ErrorOf(R"(program t
fc = linear(3, 1)
fc = linear(3, 1)
)");
  EXPECT_NE(error.find("test.ctm:3"), std::string::npos) << error;
}

TEST(Builder, WrongArgumentsShowTheSignature) {
  const std::string error = ErrorOf("program t\nfc = linear(3, ouT=1)\n");
  EXPECT_NE(error.find("test.ctm:2"), std::string::npos) << error;
  EXPECT_NE(error.find("did you mean out?"), std::string::npos) << error;
}

TEST(Builder, ATableWithAGradientNeedsAnOptimizer) {
  const std::string error = ErrorOf(R"(program t
table @t : u64 -> f32[4] = zeros
fn loss(ids: u64[B]) -> f32[] { return sum(lookup(@t, ids)) }
train = sgd(grad(loss), lr=0.1)
)");
  EXPECT_NE(error.find("test.ctm:4: sgd: the table @t has a gradient but declares no optimizer"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("declared at test.ctm:2"), std::string::npos) << error;
}

TEST(StaticArgument, SpecialisesNormAndDropout) {
  TestProgram p(R"(program t
n = norm(3)
d = dropout(0.5)
fn net(x: f32[B, 3], training: static bool = false) -> f32[B, 3] {
  return d(n(x, training=training), training=training)
}
fn infer(x: f32[B, 3]) -> f32[B, 3] { return net(x) }
fn step(x: f32[B, 3]) -> f32[B, 3] { return net(x, training=true) }
)");
  EXPECT_NE(p.flat().items.FindFunction("net[training=true]"), nullptr);
  EXPECT_NE(p.flat().items.FindFunction("n[training=false]"), nullptr);
  const Tensor x = Tensor::From<float>(Shape({2, 3}), std::vector<float>{1, 2, 3, 5, 6, 7});
  const Tensor before = p.state().GetTensor("n.mean");
  p.Run("infer", {{"x", x}});
  EXPECT_TRUE(p.state().GetTensor("n.mean").Equals(before));
  const RunResult r = p.Run("step", {{"x", x}});
  EXPECT_TRUE(r.committed);
  EXPECT_FLOAT_EQ(p.state().GetTensor("n.mean").data<float>()[0], 0.3f);  // 0.9·0 + 0.1·3
  int zeros = 0;
  for (float v : r.outputs[0].data<float>()) zeros += v == 0;
  EXPECT_GT(zeros, 0);
}

TEST(StaticArgument, ChoosesABranchBeforeTypesAreChecked) {
  TestProgram p(R"(program t
fn f(x: f32[N], flat: static bool) -> f32[?] {
  y = if flat { yield reshape(x, [N]) } else { yield concat(x, x, axis=0) }
  return y
}
fn a(x: f32[3]) -> f32[3] { return f(x, flat=true) }
fn b(x: f32[3]) -> f32[6] { return f(x, flat=false) }
)");
  const Tensor x = Tensor::From<float>(Shape({3}), std::vector<float>{1, 2, 3});
  EXPECT_EQ(p.Run("a", {{"x", x}}).outputs[0].shape(), Shape({3}));
  EXPECT_EQ(p.Run("b", {{"x", x}}).outputs[0].shape(), Shape({6}));
}

}  // namespace
}  // namespace catamaran

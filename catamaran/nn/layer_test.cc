// Layers as parts of programs: paths of their state, sharing, static arguments that are handed on,
// and norms against plain loops.

#include "catamaran/base/file.h"
#include "catamaran/nn/layer_test_util.h"

namespace catamaran {
namespace {

// These names are in saved models: a change of them breaks loading.
TEST(Layers, PathsOfTheirStateAreFrozen) {
  TestProgram p(R"(program t
lin = linear(2, 2)
deep = mlp([2, 3, 1])
c = conv(1, 2, 3)
bn = norm(2)
gn = norm(4, kind="group", groups=2, rank=4)
rms = norm(2, kind="rms")
drop = dropout(0.1)
emb = embedding(3, 2)
pos = positions(3, 2)
res = residual(linear(2, 2))
attn = attention(2, 1)
block = transformer_block(2, 1)
table @t : u64 -> f32[2]
tf = table_features(@t, [user])
fm = factorization_machine()
cross = cross_network(2, 2)
low = cross_network(2, 1, low_rank=1)
dots = dot_interaction()
din = din_attention(2, hidden=[3])
long = lstm(2, 3, layers=2)
short = gru(2, 3)
fn loss(x: f32[B, 2]) -> f32[] { return mean(lin(x)) }
rate = plateau(0.1)
train = ema(adam(grad(loss), lr=rate))
mean_of = swa(sgd(grad(loss)))
)");
  std::string paths;
  for (const StateDecl* s : p.flat().States()) paths += s->name + " ";
  EXPECT_EQ(paths,
            "lin.w lin.b deep.fc1.w deep.fc1.b deep.fc2.w deep.fc2.b c.w c.b "
            "bn.scale bn.offset bn.mean bn.var gn.scale gn.offset rms.scale emb.w pos.w "
            "res.linear.w res.linear.b "
            "attn.q.w attn.q.b attn.k.w attn.k.b attn.v.w attn.v.b attn.out.w attn.out.b "
            "block.norm1.scale block.norm1.offset block.attn.q.w block.attn.q.b block.attn.k.w "
            "block.attn.k.b block.attn.v.w block.attn.v.b block.attn.out.w block.attn.out.b "
            "block.norm2.scale block.norm2.offset block.mlp.fc1.w block.mlp.fc1.b block.mlp.fc2.w "
            "block.mlp.fc2.b t fm.b cross.l1.w cross.l1.b cross.l2.w cross.l2.b "
            "low.l1.v low.l1.u low.l1.b din.score.fc1.w din.score.fc1.b din.score.fc2.w "
            "din.score.fc2.b long.l1.wx long.l1.wh long.l1.b long.l2.wx long.l2.wh long.l2.b "
            "short.l1.wx short.l1.wh short.l1.b short.l1.bn "
            "rate.scale rate.best rate.bad rate.resting "
            "train.adam.step train.adam.m.lin.w train.adam.v.lin.w train.adam.m.lin.b "
            "train.adam.v.lin.b train.count train.avg.lin.w train.avg.lin.b "
            "mean_of.sgd.step mean_of.count mean_of.avg.lin.w mean_of.avg.lin.b ");
}

TEST(Layers, AnExpandedProgramReadsBack) {
  TestProgram p(R"(program t
b = transformer_block(4, 2, dropout=0.1)
r = residual(b)
fn f(x: f32[B, T, 4]) { return r(x, training=true) }
)");
  const std::string text = Print(p.flat());
  EXPECT_EQ(Print(Flatten(Parse(text, "flat.ctm", p.ops(), p.builders()), p.builders())), text);
}

TEST(Layers, OneInstanceCalledTwiceHasOneSetOfWeights) {
  TestProgram p(R"(program t
fc = linear(2, 2)
bn = norm(2, momentum=0.5)
fn loss(x: f32[B, 2]) -> f32[] { return sum(square(fc(tanh(fc(x))))) }
g = grad(loss)
fn both(x: f32[B, 2], y: f32[B, 2]) { return bn(x, training=true) + bn(y, training=true) }
)");
  Shake(p);
  ExpectGradientsOfParams(p, "g", {{"x", RandomTensor(Shape({3, 2}), 1)}}, 2);
  const Tensor x = Tensor::From<float>(Shape({2, 2}), {1, 0, 3, 0});
  const Tensor y = Tensor::From<float>(Shape({2, 2}), {5, 4, 5, 4});
  p.Run("both", {{"x", x}, {"y", y}});
  // Means 2 and 5, 0 and 4; each call alone would have moved half of the way.
  ExpectNear(StateDoubles(p, "bn.mean"), {1.75, 1});
}

TEST(Layers, MovingVariancesAreDividedByOneLess) {
  TestProgram p(R"(program t
bn = norm(1, momentum=0.0)
image = norm(1, momentum=0.0, rank=4)
line = norm(1, momentum=0.0, rank=3)
fn f(x: f32[B, 1]) { return bn(x, training=true) }
fn g(x: f32[B, 1, H, W]) { return image(x, training=true) }
fn h(x: f32[B, 1, L]) -> f32[B, 1, L] { return line(x, training=true) }
)");
  const std::vector<float> x = {1, 2, 3, 6};  // mean 3, squares of differences 14
  p.Run("f", {{"x", Tensor::From<float>(Shape({4, 1}), x)}});
  p.Run("g", {{"x", Tensor::From<float>(Shape({1, 1, 2, 2}), x)}});
  const RunResult r = p.Run("h", {{"x", Tensor::From<float>(Shape({2, 1, 2}), x)}});
  for (const char* path : {"bn.var", "image.var", "line.var"}) {
    ExpectNear(StateDoubles(p, path), {14.0 / 3});
  }
  const double deviation = std::sqrt(14.0 / 4);
  ExpectNear(Doubles(r.outputs[0]), {-2 / deviation, -1 / deviation, 0, 3 / deviation}, 1e-4);
}

TEST(Layers, GroupAndRmsNorm) {
  TestProgram p(R"(program t
gn = norm(4, kind="group", groups=2, rank=3)
rms = norm(2, kind="rms", eps=0.0)
fn f(x: f32[B, 4, L]) { return gn(x) }
fn g(x: f32[B, 2]) { return rms(x) }
)");
  const Tensor x = Tensor::From<float>(Shape({1, 4, 1}), {1, 3, 10, 20});
  ExpectNear(Doubles(p.Run("f", {{"x", x}}).outputs[0]), {-1, 1, -1, 1}, 1e-4);
  const Tensor y = Tensor::From<float>(Shape({1, 2}), {3, 4});
  const double root = std::sqrt(12.5);
  ExpectNear(Doubles(p.Run("g", {{"x", y}}).outputs[0]), {3 / root, 4 / root});
}

TEST(Layers, AResidualWhoseLastScaleBeginsAtZeroBeginsAsItsShortcut) {
  TestProgram p(R"(program t
builder block(C: int) {
  fc = linear(C, C)
  last = norm(C, init=0.0)
  fn (x: f32[B, C], training: static bool = false) { return last(fc(x), training=training) }
}
net = residual(block(2))
fn f(x: f32[B, 2]) { return net(x, training=true) }
)");
  const Tensor x = Tensor::From<float>(Shape({2, 2}), {1, 2, 3, -6});
  ExpectNear(Doubles(p.Run("f", {{"x", x}}).outputs[0]), {1, 2, 3, -6});
}

TEST(Residual, AddsWhatItsFunctionGivesAndHandsTrainingOn) {
  TestProgram p(R"(program t
d = dropout(0.5)
fn half(x: f32[B, D]) -> f32[B, D] { return x * 0.5 }
fn narrow(x: f32[B, 4]) -> f32[B, 2] { return slice(x, axis=1, end=2) }
fn other(x: f32[B, 4]) -> f32[B, 2] { return slice(x, axis=1, begin=2) }
plain = residual(half)
drops = residual(d)
short = residual(narrow, shortcut=other, activation=relu)
fn a(x: f32[B, 4]) { return plain(x) }
fn b(x: f32[B, 4]) { return drops(x) }
fn c(x: f32[B, 4]) { return drops(x, training=true) }
fn e(x: f32[B, 4]) { return short(x) }
)");
  const Tensor x = Tensor::From<float>(Shape({1, 4}), {1, 2, 3, -6});
  ExpectNear(Doubles(p.Run("a", {{"x", x}}).outputs[0]), {1.5, 3, 4.5, -9});
  ExpectNear(Doubles(p.Run("b", {{"x", x}}).outputs[0]), {2, 4, 6, -12});
  ExpectNear(Doubles(p.Run("e", {{"x", x}}).outputs[0]), {4, 0});
  const auto dropped =
      Doubles(p.Run("c", {{"x", RandomTensor(Shape({50, 4}), 1, 1, 1)}}).outputs[0]);
  for (double v : dropped) EXPECT_TRUE(v == 1 || v == 3) << v;
  EXPECT_NE(std::count(dropped.begin(), dropped.end(), 1.0), 0);
  EXPECT_NE(std::count(dropped.begin(), dropped.end(), 3.0), 0);
}

TEST(Builders, WrittenInTextHandStaticArgumentsOnToFunctionsThatTakeThem) {
  TestProgram p(R"(program t
builder twice(f: function) {
  fn (x: f32[B, D], training: static bool = false) { return f(f(x, training=training), training=training) }
}
d = dropout(0.5)
fn half(x: f32[B, D]) -> f32[B, D] { return x * 0.5 }
td = twice(d)
th = twice(half)
fn a(x: f32[B, 4]) { return td(x, training=true) }
fn b(x: f32[B, 4]) { return th(x, training=true) }
)");
  const Tensor ones = RandomTensor(Shape({50, 4}), 1, 1, 1);
  const auto dropped = Doubles(p.Run("a", {{"x", ones}}).outputs[0]);
  for (double v : dropped) EXPECT_TRUE(v == 0 || v == 4) << v;
  EXPECT_NE(std::count(dropped.begin(), dropped.end(), 0.0), 0);
  EXPECT_EQ(Doubles(p.Run("b", {{"x", ones}}).outputs[0])[0], 0.25);
}

TEST(Mlp, HasDropoutAndALastActivation) {
  TestProgram p(R"(program t
m = mlp([2, 3, 2], dropout=0.5, last=relu, bias=false)
fn f(x: f32[B, 2]) { return m(x) }
fn g(x: f32[B, 2]) { return m(x, training=true) }
)");
  p.state().SetTensor("m.fc1.w", Tensor::From<float>(Shape({2, 3}), {1, 1, 1, 0, 0, 0}));
  p.state().SetTensor("m.fc2.w", Tensor::From<float>(Shape({3, 2}), {1, -1, 1, -1, 1, -1}));
  const Tensor ones = RandomTensor(Shape({100, 2}), 1, 1, 1);
  EXPECT_EQ(p.flat().items.FindState("m.fc1.b"), nullptr);
  const auto kept = Doubles(p.Run("f", {{"x", ones}}).outputs[0]);
  EXPECT_EQ(kept[0], 3);
  EXPECT_EQ(kept[1], 0);
  const auto dropped = Doubles(p.Run("g", {{"x", ones}}).outputs[0]);
  for (size_t i = 0; i < dropped.size(); i += 2) {
    EXPECT_TRUE(dropped[i] == 0 || dropped[i] == 2 || dropped[i] == 4 || dropped[i] == 6);
  }
}

// The programs of a page.
void ExpectProgramsOf(const std::string& page) {
  const char* root = std::getenv("CATAMARAN_SOURCE_DIR");
  const std::string text = PosixFileSystem().ReadAll(JoinPath(root ? root : ".", page));
  size_t count = 0;
  for (size_t at = text.find("```ctm\n"); at != std::string::npos; at = text.find("```ctm\n", at)) {
    at += 7;
    const size_t end = text.find("```", at);
    EXPECT_EQ(ErrorOf(text.substr(at, end - at)), "") << page;
    ++count;
  }
  EXPECT_GT(count, 1u) << page;
}

TEST(Documentation, ProgramsOnThePageOfLayersAreGood) { ExpectProgramsOf("docs/layers.md"); }

}  // namespace
}  // namespace catamaran

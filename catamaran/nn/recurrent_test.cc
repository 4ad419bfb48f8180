// Recurrent layers against the same steps written with `for`, and against plain loops.

#include "catamaran/nn/layer_test_util.h"

namespace catamaran {
namespace {

// The steps of the layer `r`, as a program says them, reading its weights.
constexpr const char* kLstmSteps = R"(
fn steps(x: f32[B, T, 3], h0: f32[1, B, 4], c0: f32[1, B, 4]) -> (f32[B, 4], f32[B, 4]) {
  h, c = for t in range(T) with (h = reshape(h0, [B, 4]), c = reshape(c0, [B, 4])) {
    now = reshape(slice(x, at=t, size=1, axis=1), [B, 3])
    z = matmul(now, @r.l1.wx) + @r.l1.b + matmul(h, @r.l1.wh)
    i, f, g, o = split(z, axis=1)
    c1 = sigmoid(f) * c + sigmoid(i) * tanh(g)
    yield sigmoid(o) * tanh(c1), c1
  }
  return h, c
}
)";

TEST(Lstm, DoesWhatItsStepsDoAndSoDoesItsGradient) {
  TestProgram p(std::string(R"(program t
r = lstm(3, 4, state=true)
)") + kLstmSteps +
                R"(
fn one(x: f32[B, T, 3], h: f32[1, B, 4], c: f32[1, B, 4]) -> f32[] {
  y, h1, c1 = r(x, h, c)
  return sum(square(h1)) + sum(c1)
}
fn other(x: f32[B, T, 3], h: f32[1, B, 4], c: f32[1, B, 4]) -> f32[] {
  h1, c1 = steps(x, h, c)
  return sum(square(h1)) + sum(c1)
}
g1 = grad(one, wrt=[@r.l1.wx, @r.l1.wh, @r.l1.b, x, h, c])
g2 = grad(other, wrt=[@r.l1.wx, @r.l1.wh, @r.l1.b, x, h, c])
)");
  Shake(p);
  const TestProgram::Feeds feeds = {{"x", RandomTensor(Shape({2, 5, 3}), 1)},
                                    {"h", RandomTensor(Shape({1, 2, 4}), 2)},
                                    {"c", RandomTensor(Shape({1, 2, 4}), 3)}};
  const RunResult a = p.Run("g1", feeds), b = p.Run("g2", feeds);
  ASSERT_EQ(a.outputs.size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    SCOPED_TRACE(i);
    ExpectNear(Doubles(a.outputs[i]), Doubles(b.outputs[i]), 1e-4);
  }
}

TEST(Gru, DoesWhatItsStepsDoAndSoDoesItsGradient) {
  TestProgram p(R"(program t
r = gru(3, 4, state=true)
fn steps(x: f32[B, T, 3], h0: f32[1, B, 4]) -> f32[B, 4] {
  h = for t in range(T) with (h = reshape(h0, [B, 4])) {
    now = reshape(slice(x, at=t, size=1, axis=1), [B, 3])
    xr, xu, xn = split(matmul(now, @r.l1.wx) + @r.l1.b, axis=1)
    hr, hu, hn = split(matmul(h, @r.l1.wh), axis=1)
    u = sigmoid(xu + hu)
    n = tanh(xn + sigmoid(xr + hr) * (hn + @r.l1.bn))
    yield (1.0 - u) * n + u * h
  }
  return h
}
fn one(x: f32[B, T, 3], h: f32[1, B, 4]) -> f32[] {
  y, h1 = r(x, h)
  return sum(square(h1)) + sum(h1)
}
fn other(x: f32[B, T, 3], h: f32[1, B, 4]) -> f32[] {
  h1 = steps(x, h)
  return sum(square(h1)) + sum(h1)
}
g1 = grad(one, wrt=[@r.l1.wx, @r.l1.wh, @r.l1.b, @r.l1.bn, x, h])
g2 = grad(other, wrt=[@r.l1.wx, @r.l1.wh, @r.l1.b, @r.l1.bn, x, h])
)");
  Shake(p);
  const TestProgram::Feeds feeds = {{"x", RandomTensor(Shape({2, 5, 3}), 1)},
                                    {"h", RandomTensor(Shape({1, 2, 4}), 2)}};
  const RunResult a = p.Run("g1", feeds), b = p.Run("g2", feeds);
  ASSERT_EQ(a.outputs.size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    SCOPED_TRACE(i);
    ExpectNear(Doubles(a.outputs[i]), Doubles(b.outputs[i]), 1e-4);
  }
}

TEST(Recurrent, ASequenceInTwoPartsGivesWhatItGivesAtOnce) {
  TestProgram p(R"(program t
r = lstm(3, 4, layers=2, state=true)
fn f(x: f32[B, T, 3], h: f32[2, B, 4], c: f32[2, B, 4]) { 
  y, h1, c1 = r(x, h, c)
  return y, h1, c1
}
)");
  Shake(p);
  const Tensor x = RandomTensor(Shape({1, 4, 3}), 1);
  const std::vector<float> all(x.data<float>().begin(), x.data<float>().end());
  const Tensor first = Tensor::From<float>(Shape({1, 2, 3}), {all.begin(), all.begin() + 6});
  const Tensor second = Tensor::From<float>(Shape({1, 2, 3}), {all.begin() + 6, all.end()});
  const Tensor zeros = Tensor::From<float>(Shape({2, 1, 4}), std::vector<float>(8));
  const RunResult whole = p.Run("f", {{"x", x}, {"h", zeros}, {"c", zeros}});
  const RunResult a = p.Run("f", {{"x", first}, {"h", zeros}, {"c", zeros}});
  const RunResult b = p.Run("f", {{"x", second}, {"h", a.outputs[1]}, {"c", a.outputs[2]}});
  ExpectNear(Doubles(b.outputs[1]), Doubles(whole.outputs[1]));
  ExpectNear(Doubles(b.outputs[2]), Doubles(whole.outputs[2]));
  const auto y = Doubles(whole.outputs[0]);
  ExpectNear(Doubles(b.outputs[0]), {y.begin() + 8, y.end()});
}

TEST(Recurrent, RaggedSequencesEndWhereTheyEnd) {
  for (const char* kind : {"lstm", "gru"}) {
    TestProgram p(fmt::format(R"(program t
builder both(I: int) {{
  r = {0}(I, 2, ragged=true, length=4)
  fn (x: f32[B, *T, I]) {{ return r(x) }}
}}
rag = both(3)
end = {0}(3, 2, ragged=true, length=4, give=last)
dense = {0}(3, 2)
fn f(x: f32[N, 3], n: i64[B]) {{
  s = ragged(x, n)
  return ragged_values(rag(s)), end(s)
}}
fn g(x: f32[B, T, 3]) {{ return dense(x) }}
)",
                              kind));
    Shake(p);
    for (const char* name : {"wx", "wh", "b", "bn"}) {
      const std::string from = fmt::format("dense.l1.{}", name);
      if (!p.flat().items.FindState(from)) continue;
      p.state().SetTensor(fmt::format("rag.r.l1.{}", name), p.state().GetTensor(from));
      p.state().SetTensor(fmt::format("end.l1.{}", name), p.state().GetTensor(from));
    }
    const Tensor x = RandomTensor(Shape({5, 3}), 1);
    const Tensor n = Tensor::From<int64_t>(Shape({3}), {2, 0, 3});
    const RunResult r = p.Run("f", {{"x", x}, {"n", n}});
    const std::vector<float> all(x.data<float>().begin(), x.data<float>().end());
    const auto one = Doubles(
        p.Run("g", {{"x", Tensor::From<float>(Shape({1, 2, 3}), {all.begin(), all.begin() + 6})}})
            .outputs[0]);
    const auto two = Doubles(
        p.Run("g", {{"x", Tensor::From<float>(Shape({1, 3, 3}), {all.begin() + 6, all.end()})}})
            .outputs[0]);
    std::vector<double> wanted = one;
    wanted.insert(wanted.end(), two.begin(), two.end());
    ExpectNear(Doubles(r.outputs[0]), wanted);
    ExpectNear(Doubles(r.outputs[1]), {one[2], one[3], 0, 0, two[4], two[5]});
    const Tensor longer = Tensor::From<int64_t>(Shape({1}), {5});
    EXPECT_THROW(p.Run("f", {{"x", x}, {"n", longer}}), Error);
  }
}

}  // namespace
}  // namespace catamaran

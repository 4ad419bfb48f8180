// Attention, transformer blocks and positions against loops over plain numbers.

#include "catamaran/nn/layer_test_util.h"

namespace catamaran {
namespace {

using Feeds = TestProgram::Feeds;

// x[n, in] · w[in, out] + b.
std::vector<double> Linear(const std::vector<double>& x, const std::vector<double>& w,
                           const std::vector<double>& b, size_t in, size_t out) {
  std::vector<double> y(x.size() / in * out);
  for (size_t n = 0; n < x.size() / in; ++n) {
    for (size_t o = 0; o < out; ++o) {
      double sum = b.empty() ? 0 : b[o];
      for (size_t i = 0; i < in; ++i) sum += x[n * in + i] * w[i * out + o];
      y[n * out + o] = sum;
    }
  }
  return y;
}

struct AttentionCase {
  size_t heads = 1;
  bool causal = false;
  std::vector<bool> valid = {};  // of the elements of one sequence; empty: all
};

// Attention of one sequence of `length` elements of `width`, by the params under `path`.
std::vector<double> Attend(TestProgram& p, const std::string& path, const std::vector<double>& x,
                           size_t length, size_t width, const AttentionCase& c) {
  const auto project = [&](const std::string& name, const std::vector<double>& of) {
    return Linear(of, StateDoubles(p, path + "." + name + ".w"),
                  StateDoubles(p, path + "." + name + ".b"), width, width);
  };
  const auto q = project("q", x), k = project("k", x), v = project("v", x);
  std::vector<double> y(length * width);
  const size_t size = width / c.heads;
  for (size_t h = 0; h < c.heads; ++h) {
    for (size_t t = 0; t < length; ++t) {
      std::vector<double> weights(length);
      double total = 0;
      for (size_t s = 0; s < length; ++s) {
        if ((c.causal && s > t) || (!c.valid.empty() && !c.valid[s])) continue;
        double score = 0;
        for (size_t i = 0; i < size; ++i) {
          score += q[t * width + h * size + i] * k[s * width + h * size + i];
        }
        total += weights[s] = std::exp(score / std::sqrt(static_cast<double>(size)));
      }
      for (size_t s = 0; s < length; ++s) {
        for (size_t i = 0; i < size; ++i) {
          y[t * width + h * size + i] += weights[s] / total * v[s * width + h * size + i];
        }
      }
    }
  }
  return project("out", y);
}

TEST(AttentionLayer, IsTheSoftmaxOfProductsHeadByHead) {
  for (const bool causal : {false, true}) {
    TestProgram p(fmt::format(R"(program t
a = attention(6, 2, causal={})
fn f(x: f32[B, T, 6]) -> f32[B, T, 6] {{ return a(x) }}
)",
                              causal));
    Shake(p);
    const Tensor x = RandomTensor(Shape({1, 5, 6}), 3);
    ExpectNear(Doubles(p.Run("f", {{"x", x}}).outputs[0]),
               Attend(p, "a", Doubles(x), 5, 6, {2, causal}));
  }
}

TEST(AttentionLayer, LeavesOutWhatIsNotValid) {
  TestProgram p(R"(program t
a = attention(4, 2, causal=true, padding=true)
fn f(x: f32[B, T, 4], valid: bool[B, T]) { return a(x, valid) }
)");
  Shake(p);
  const Tensor x = RandomTensor(Shape({1, 4, 4}), 3);
  const Tensor valid = Tensor::From<bool>(Shape({1, 4}), {true, false, true, true});
  ExpectNear(Doubles(p.Run("f", {{"x", x}, {"valid", valid}}).outputs[0]),
             Attend(p, "a", Doubles(x), 4, 4, {2, true, {true, false, true, true}}));
}

TEST(AttentionLayer, OfRaggedSequencesStaysWithinEach) {
  TestProgram p(R"(program t
a = attention(4, 2, causal=true, ragged=true)
fn f(x: f32[N, 4], lengths: i64[B]) {
  s = ragged(x, lengths)
  return ragged_values(a(s))
}
)");
  Shake(p);
  const Tensor x = RandomTensor(Shape({5, 4}), 3);
  const Tensor lengths = Tensor::From<int64_t>(Shape({2}), {2, 3});
  const std::vector<double> all = Doubles(x);
  std::vector<double> wanted = Attend(p, "a", {all.begin(), all.begin() + 8}, 2, 4, {2, true});
  const auto second = Attend(p, "a", {all.begin() + 8, all.end()}, 3, 4, {2, true});
  wanted.insert(wanted.end(), second.begin(), second.end());
  ExpectNear(Doubles(p.Run("f", {{"x", x}, {"lengths", lengths}}).outputs[0]), wanted);
}

TEST(AttentionLayer, ToAMemoryReadsKeysAndValuesFromIt) {
  // With equal rows in the memory every weight is the same, and the result is one value projected.
  TestProgram p(R"(program t
a = attention(4, 2, cross=true)
fn f(x: f32[B, T, 4], memory: f32[B, S, 4]) { return a(x, memory) }
)");
  Shake(p);
  const Tensor x = RandomTensor(Shape({1, 3, 4}), 3);
  const Tensor memory = Tensor::From<float>(Shape({1, 2, 4}), {1, 2, -1, 0.5, 1, 2, -1, 0.5});
  const auto v = Linear({1, 2, -1, 0.5}, StateDoubles(p, "a.v.w"), StateDoubles(p, "a.v.b"), 4, 4);
  const auto row = Linear(v, StateDoubles(p, "a.out.w"), StateDoubles(p, "a.out.b"), 4, 4);
  std::vector<double> wanted;
  for (int t = 0; t < 3; ++t) wanted.insert(wanted.end(), row.begin(), row.end());
  ExpectNear(Doubles(p.Run("f", {{"x", x}, {"memory", memory}}).outputs[0]), wanted);
}

TEST(AttentionLayer, DropsWeightsInTrainingOnlyAndKeepsTheirMean) {
  TestProgram p(R"(program t
a = attention(4, 1, dropout=0.5)
fn f(x: f32[B, T, 4]) -> f32[B, T, 4] { return a(x) }
fn g(x: f32[B, T, 4]) -> f32[B, T, 4] { return a(x, training=true) }
)");
  Shake(p);
  // Many equal sequences: what is dropped differs, and the mean is that without dropping.
  const int64_t count = 4000;
  const Tensor one = RandomTensor(Shape({1, 3, 4}), 3);
  Tensor x = Tensor::Allocate(DType::kF32, Shape({count, 3, 4}));
  for (size_t i = 0; i < x.data<float>().size(); ++i) {
    x.mutable_data<float>()[i] = one.data<float>()[i % 12];
  }
  const auto kept = Doubles(p.Run("f", {{"x", one}}).outputs[0]);
  const auto dropped = Doubles(p.Run("g", {{"x", x}}).outputs[0]);
  std::vector<double> mean(12);
  for (size_t i = 0; i < dropped.size(); ++i) mean[i % 12] += dropped[i] / count;
  ExpectNear(mean, kept, 0.02);
  EXPECT_GT(std::abs(dropped[0] - dropped[12]) + std::abs(dropped[0] - dropped[24]), 1e-4);
}

TEST(AttentionLayer, HasTheGradientsOfFiniteDifferences) {
  TestProgram p(R"(program t
b = transformer_block(4, 2, causal=true, hidden=6)
fn loss(x: f32[B, T, 4]) -> f32[] { return mean(square(b(x, training=true))) }
g = grad(loss)
)");
  Shake(p);
  ExpectGradientsOfParams(p, "g", {{"x", RandomTensor(Shape({2, 3, 4}), 5)}}, 16);
}

std::vector<double> LayerNorm(std::vector<double> x, const std::vector<double>& scale,
                              const std::vector<double>& offset) {
  const size_t width = scale.size();
  for (size_t n = 0; n < x.size(); n += width) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < width; ++i) mean += x[n + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) {
      var += (x[n + i] - mean) * (x[n + i] - mean) / static_cast<double>(width);
    }
    for (size_t i = 0; i < width; ++i) {
      x[n + i] = (x[n + i] - mean) / std::sqrt(var + 1e-5) * scale[i] + offset[i];
    }
  }
  return x;
}

TEST(TransformerBlock, AddsAttentionAndAnMlpOfNormalisedValues) {
  TestProgram p(R"(program t
b = transformer_block(4, 2, causal=true, hidden=6, dropout=0.3)
fn f(x: f32[B, T, 4]) -> f32[B, T, 4] { return b(x) }
)");
  Shake(p);
  const Tensor input = RandomTensor(Shape({1, 3, 4}), 5);
  std::vector<double> x = Doubles(input);
  const auto norm = [&](const std::string& name) {
    return LayerNorm(x, StateDoubles(p, name + ".scale"), StateDoubles(p, name + ".offset"));
  };
  const auto attended = Attend(p, "b.attn", norm("b.norm1"), 3, 4, {2, true});
  for (size_t i = 0; i < x.size(); ++i) x[i] += attended[i];
  auto h =
      Linear(norm("b.norm2"), StateDoubles(p, "b.mlp.fc1.w"), StateDoubles(p, "b.mlp.fc1.b"), 4, 6);
  for (double& v : h) v *= 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
  const auto added =
      Linear(h, StateDoubles(p, "b.mlp.fc2.w"), StateDoubles(p, "b.mlp.fc2.b"), 6, 4);
  for (size_t i = 0; i < x.size(); ++i) x[i] += added[i];
  ExpectNear(Doubles(p.Run("f", {{"x", input}}).outputs[0]), x);
}

TEST(TransformerBlock, DropsDifferentElementsInItsParts) {
  TestProgram p(R"(program t
d1 = dropout(0.5, rank=1)
fn f(x: f32[N]) -> f32[N] { return d1(d1(x, training=true), training=true) }
)");
  Tensor x = Tensor::Allocate(DType::kF32, Shape({4000}));
  for (float& v : x.mutable_data<float>()) v = 1;
  const auto y = Doubles(p.Run("f", {{"x", x}}).outputs[0]);
  const auto kept = std::count_if(y.begin(), y.end(), [](double v) { return v != 0; });
  EXPECT_NEAR(static_cast<double>(kept) / 4000.0, 0.25, 0.03);
}

TEST(Positions, AddTheVectorOfEachPlace) {
  TestProgram p(R"(program t
pos = positions(4, 2)
rag = positions(4, 2, ragged=true)
fn f(x: f32[B, T, 2]) { return pos(x) }
fn g(x: f32[N, 2], lengths: i64[B]) { return ragged_values(rag(ragged(x, lengths))) }
)");
  const Tensor w = Tensor::From<float>(Shape({4, 2}), {1, 2, 3, 4, 5, 6, 7, 8});
  p.state().SetTensor("pos.w", w);
  p.state().SetTensor("rag.w", w);
  const Tensor zeros = Tensor::From<float>(Shape({1, 3, 2}), {0, 0, 0, 0, 0, 0});
  ExpectNear(Doubles(p.Run("f", {{"x", zeros}}).outputs[0]), {1, 2, 3, 4, 5, 6});
  const Tensor flat = Tensor::From<float>(Shape({3, 2}), {0, 0, 0, 0, 10, 10});
  const Tensor lengths = Tensor::From<int64_t>(Shape({2}), {2, 1});
  ExpectNear(Doubles(p.Run("g", {{"x", flat}, {"lengths", lengths}}).outputs[0]),
             {1, 2, 3, 4, 11, 12});
  const Tensor longer = RandomTensor(Shape({1, 5, 2}), 1);
  EXPECT_THROW(p.Run("f", {{"x", longer}}), Error);
}

TEST(AttentionLayer, NamesTheUsersLine) {
  const std::string error = ErrorOf("program t\n\nb = transformer_block(10, 3)\n");
  EXPECT_NE(error.find("test.ctm:3"), std::string::npos) << error;
  EXPECT_NE(error.find("heads = 3 must divide width = 10"), std::string::npos) << error;
  EXPECT_NE(error.find("in b = transformer_block"), std::string::npos) << error;
  const std::string shape = ErrorOf(R"(program t
b = transformer_block(8, 2)
fn f(x: f32[B, T, 6]) {
  return b(x)
}
)");
  EXPECT_NE(shape.find("test.ctm:4"), std::string::npos) << shape;
  EXPECT_NE(shape.find("6"), std::string::npos) << shape;
}

}  // namespace
}  // namespace catamaran

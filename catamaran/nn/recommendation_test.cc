// Layers for recommendation against numbers that were worked out by hand or by plain loops.

#include "catamaran/nn/layer_test_util.h"

namespace catamaran {
namespace {

Tensor Ids(const Shape& shape, std::vector<uint64_t> values) {
  return Tensor::From<uint64_t>(shape, values);
}

TEST(FactorizationMachine, AddsBiasWeightsAndPairs) {
  TestProgram p(R"(program t
fm = factorization_machine()
joint = factorization_machine(joint=true)
fn f(first: f32[B, F], factors: f32[B, F, D]) { return fm(first, factors) }
fn g(x: f32[B, F, D]) { return joint(x) }
)");
  const Tensor b = Tensor::From<float>(Shape(), {0.5});
  p.state().SetTensor("fm.b", b);
  p.state().SetTensor("joint.b", b);
  // Pairs of (1,2), (3,-1), (0,2): 1 + 4 - 2 = 3.
  const Tensor first = Tensor::From<float>(Shape({1, 3}), {10, 20, 30});
  const Tensor factors = Tensor::From<float>(Shape({1, 3, 2}), {1, 2, 3, -1, 0, 2});
  ExpectNear(Doubles(p.Run("f", {{"first", first}, {"factors", factors}}).outputs[0]), {63.5});
  const Tensor rows = Tensor::From<float>(Shape({1, 3, 3}), {10, 1, 2, 20, 3, -1, 30, 0, 2});
  ExpectNear(Doubles(p.Run("g", {{"x", rows}}).outputs[0]), {63.5});
}

TEST(CrossNetwork, MultipliesItsInputWithWhatTheLayerBeforeGave) {
  TestProgram p(R"(program t
c = cross_network(2, 2)
low = cross_network(2, 1, low_rank=1)
fn f(x: f32[B, 2]) { return c(x) }
fn g(x: f32[B, 2]) { return low(x) }
)");
  p.state().SetTensor("c.l1.w", Tensor::From<float>(Shape({2, 2}), {1, 2, 3, 4}));
  p.state().SetTensor("c.l1.b", Tensor::From<float>(Shape({2}), {1, -1}));
  p.state().SetTensor("c.l2.w", Tensor::From<float>(Shape({2, 2}), {1, 0, 0, 1}));
  p.state().SetTensor("c.l2.b", Tensor::From<float>(Shape({2}), {0, 0}));
  // x0 = (2, 3): x·w = (11, 16), + b = (12, 15), x1 = (2*12 + 2, 3*15 + 3) = (26, 48),
  // x2 = (2*26 + 26, 3*48 + 48) = (78, 192).
  const Tensor x = Tensor::From<float>(Shape({1, 2}), {2, 3});
  ExpectNear(Doubles(p.Run("f", {{"x", x}}).outputs[0]), {78, 192});
  p.state().SetTensor("low.l1.v", Tensor::From<float>(Shape({2, 1}), {1, 2}));
  p.state().SetTensor("low.l1.u", Tensor::From<float>(Shape({1, 2}), {3, 5}));
  p.state().SetTensor("low.l1.b", Tensor::From<float>(Shape({2}), {1, 0}));
  // x·v = 8, ·u = (24, 40), + b = (25, 40), result (2*25 + 2, 3*40 + 3).
  ExpectNear(Doubles(p.Run("g", {{"x", x}}).outputs[0]), {52, 123});
}

TEST(DotInteraction, GivesTheDenseSideAndAllInnerProducts) {
  TestProgram p(R"(program t
i = dot_interaction()
s = dot_interaction(self_interaction=true)
fn f(dense: f32[B, 2], fields: f32[B, 2, 2]) -> f32[B, 5] { return i(dense, fields) }
fn g(dense: f32[B, 2], fields: f32[B, 2, 2]) -> f32[B, 8] { return s(dense, fields) }
)");
  const TestProgram::Feeds feeds = {
      {"dense", Tensor::From<float>(Shape({1, 2}), {1, 2})},
      {"fields", Tensor::From<float>(Shape({1, 2, 2}), {3, 4, 5, 6})}};
  ExpectNear(Doubles(p.Run("f", feeds).outputs[0]), {1, 2, 11, 17, 39});
  ExpectNear(Doubles(p.Run("g", feeds).outputs[0]), {1, 2, 5, 11, 25, 17, 39, 61});
}

constexpr const char* kDin = R"(program t
din = din_attention(2, hidden=[3], softmax={})
fn f(target: f32[B, 2], h: f32[N, 2], lengths: i64[B]) {{
  return din(target, ragged(h, lengths))
}}
fn loss(target: f32[B, 2], h: f32[N, 2], lengths: i64[B]) -> f32[] {{
  return sum(square(f(target, h, lengths)))
}}
g = grad(loss)
)";

TEST(DinAttention, SumsAHistoryByTheScoresOfItsElements) {
  for (const bool softmax : {false, true}) {
    TestProgram p(fmt::format(kDin, softmax));
    Shake(p);
    const Tensor target = RandomTensor(Shape({3, 2}), 1), h = RandomTensor(Shape({5, 2}), 2);
    const std::vector<int64_t> lengths = {2, 0, 3};
    const auto w1 = StateDoubles(p, "din.score.fc1.w"), b1 = StateDoubles(p, "din.score.fc1.b");
    const auto w2 = StateDoubles(p, "din.score.fc2.w"), b2 = StateDoubles(p, "din.score.fc2.b");
    const auto t = Doubles(target), e = Doubles(h);
    std::vector<double> wanted(6);
    for (size_t b = 0, at = 0; b < 3; ++b) {
      std::vector<double> scores;
      const size_t n = static_cast<size_t>(lengths[b]);
      for (size_t k = 0; k < n; ++k) {
        double in[8];
        for (size_t i = 0; i < 2; ++i) {
          const double q = t[b * 2 + i], v = e[(at + k) * 2 + i];
          in[i] = q, in[2 + i] = v, in[4 + i] = q - v, in[6 + i] = q * v;
        }
        double score = b2[0];
        for (size_t o = 0; o < 3; ++o) {
          double sum = b1[o];
          for (size_t i = 0; i < 8; ++i) sum += in[i] * w1[i * 3 + o];
          score += w2[o] / (1 + std::exp(-sum));
        }
        scores.push_back(score);
      }
      if (softmax) {
        double total = 0;
        for (double& s : scores) total += s = std::exp(s / std::sqrt(2.0));
        for (double& s : scores) s /= total;
      }
      for (size_t k = 0; k < n; ++k) {
        for (size_t i = 0; i < 2; ++i) wanted[b * 2 + i] += scores[k] * e[(at + k) * 2 + i];
      }
      at += n;
    }
    const TestProgram::Feeds feeds = {
        {"target", target}, {"h", h}, {"lengths", Tensor::From<int64_t>(Shape({3}), lengths)}};
    ExpectNear(Doubles(p.Run("f", feeds).outputs[0]), wanted);
    ExpectGradientsOfParams(p, "g", feeds, 4);
  }
}

TEST(TableFeatures, ReadsEachFeatureFromItsOwnRows) {
  TestProgram p(R"(program t
table @feat : u64 -> f32[2] = normal(std=1.0) { optimizer = sgd(lr=0.1), features = [user, item, tags] }
fs = table_features(@feat, [user, item], bags=[tags], pool=sum)
row = table_features(@feat, ["user"], bags=["tags"], give=row)
fn f(user: u64[B, 1], item: u64[B, 2], tags: u64[B, *T]) -> f32[B, 3, 2] {
  return fs(user, item, tags)
}
fn g(user: u64[B, 1], tags: u64[B, *T]) -> f32[B, 4] { return row(user, tags) }
fn by_hand(user: u64[B, 1], item: u64[B, 2], tags: u64[B, *T]) -> f32[B, 6] {
  u = lookup(@feat, user, feature=user, pool=sum)
  i = lookup(@feat, item, feature=item, pool=sum)
  t = lookup(@feat, tags, feature=tags, pool=sum)
  return concat(u, i, t, axis=1)
}
fn from(u: u64[B, 1], i: u64[B, 2], t: u64[N], n: i64[B]) {
  r = ragged(t, n)
  return f(u, i, r), g(u, r), by_hand(u, i, r)
}
)");
  const RunResult r = p.Run("from", {{"u", Ids(Shape({2, 1}), {7, 7})},
                                     {"i", Ids(Shape({2, 2}), {7, 8, 9, 7})},
                                     {"t", Ids(Shape({3}), {7, 5, 7})},
                                     {"n", Tensor::From<int64_t>(Shape({2}), {3, 0})}});
  const auto fields = Doubles(r.outputs[0]), row = Doubles(r.outputs[1]);
  ExpectNear(fields, Doubles(r.outputs[2]), 0);
  EXPECT_NE(fields[0], fields[4]);  // equal ids of different features
  EXPECT_EQ(fields[0], fields[6]);  // the same user twice
  EXPECT_EQ(fields[10], 0);         // an empty bag
  ExpectNear({row[0], row[1]}, {fields[0], fields[1]}, 0);
  ExpectNear({row[2] * 3, row[3] * 3}, {fields[4], fields[5]});
}

TEST(TableFeatures, RefusesWhatTheTableDoesNotDeclare) {
  const std::string error = ErrorOf(R"(program t
table @feat : u64 -> f32[2] { features = [user, item] }
fs = table_features(@feat, [user, itme])
)");
  EXPECT_NE(error.find("test.ctm:3"), std::string::npos) << error;
  EXPECT_NE(error.find("has no feature itme; it declares item, user"), std::string::npos) << error;
  EXPECT_NE(ErrorOf("program t\nparam @w : f32[2]\nfs = table_features(@w, [a])\n")
                .find("table is a table, such as @feat; found @w"),
            std::string::npos);
}

}  // namespace
}  // namespace catamaran

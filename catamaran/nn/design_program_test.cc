// The program that the design document opens with, word for word: it parses, prints, trains.

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

constexpr std::string_view kCtr = R"(program ctr

table @feat : u64 -> f32[16] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)     // rows are updated where they live
  admit     = count(3)
  expire    = unseen(days=30)
}
fc1 = linear(429, 400)                     // owns @fc1.w and @fc1.b
fc2 = linear(400, 1)

fn infer(ids: u64[B, 26], dense: f32[B, 13]) -> f32[B] {
  e = lookup(@feat, ids)                   // f32[B, 26, 16]
  x = concat(reshape(e, [B, 416]), dense, axis=1)
  return sigmoid(reshape(fc2(relu(fc1(x))), [B]))
}

fn loss(ids: u64[B, 26], dense: f32[B, 13], label: f32[B]) -> f32[] {
  observe(@feat, ids, show=1, click=label) // metadata; joins the commit region
  return mean(binary_cross_entropy(infer(ids, dense), label))
}

train = adam(clip(grad(loss), norm=1.0), lr=0.001)   // owns @train.step, @train.m.*, ...
)";

struct Batch {
  Tensor ids, dense, label;
  TestProgram::Feeds ForTrain() const { return {{"ids", ids}, {"dense", dense}, {"label", label}}; }
  TestProgram::Feeds ForInfer() const { return {{"ids", ids}, {"dense", dense}}; }
};

// The label depends on the first id alone, so only its row can learn it.
Batch MakeBatch(int64_t rows, uint64_t seed) {
  std::vector<uint64_t> ids;
  std::vector<float> dense, label;
  for (int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < 26; ++k) ids.push_back(k * 1000 + (i * 7 + k * seed) % 5);
    for (int k = 0; k < 13; ++k) dense.push_back(0.1f * static_cast<float>((i + k) % 3));
    label.push_back(ids[i * 26] % 2 == 0 ? 1.0f : 0.0f);
  }
  return {Tensor::From<uint64_t>(Shape({rows, 26}), ids),
          Tensor::From<float>(Shape({rows, 13}), dense), Tensor::From<float>(Shape({rows}), label)};
}

TEST(DesignProgram, PrintsAsTextThatParsesBack) {
  TestProgram p(kCtr);
  const std::string text = Print(p.written());
  Program again = Parse(text, "again.ctm", p.ops(), p.builders());
  std::string why;
  EXPECT_TRUE(Equal(again, p.written(), &why)) << why << "\n" << text;
  EXPECT_EQ(Print(again), text);
}

TEST(DesignProgram, FlatFormPrintsAsTextThatFlattensToItself) {
  TestProgram p(kCtr);
  const std::string text = Print(p.flat());
  Program again = Flatten(Parse(text, "again.ctm", p.ops(), p.builders()), p.builders());
  std::string why;
  EXPECT_TRUE(Equal(again, p.flat(), &why)) << why << "\n" << text;
}

// Paths are what saved states are loaded by: they never change.
TEST(DesignProgram, OwnsTheseStates) {
  TestProgram p(kCtr);
  std::vector<std::string> paths;
  for (const StateDecl* s : p.flat().States()) paths.push_back(s->name);
  EXPECT_EQ(paths, (std::vector<std::string>{"feat", "fc1.w", "fc1.b", "fc2.w", "fc2.b",
                                             "train.step", "train.m.fc1.w", "train.v.fc1.w",
                                             "train.m.fc1.b", "train.v.fc1.b", "train.m.fc2.w",
                                             "train.v.fc2.w", "train.m.fc2.b", "train.v.fc2.b"}));
}

TEST(DesignProgram, LearnsAndServesFromOneState) {
  TestProgram p(kCtr);
  const Batch batch = MakeBatch(64, 3);
  const double before = p.Scalar("loss.pure", batch.ForTrain());
  RunResult r;
  for (int i = 0; i < 150; ++i) r = p.Run("train", batch.ForTrain());
  EXPECT_TRUE(r.committed);
  EXPECT_EQ(p.state().step(), 150);
  const double after = p.Scalar("loss.pure", batch.ForTrain());
  EXPECT_LT(after, before * 0.3) << before;
  const Tensor scores = p.Run("infer", batch.ForInfer()).outputs[0];
  int right = 0;
  for (int64_t i = 0; i < 64; ++i)
    right += (scores.data<float>()[i] > 0.5f) == (batch.label.data<float>()[i] > 0.5f);
  EXPECT_EQ(right, 64);
  EXPECT_GT(p.state().table("feat").size(), 0u);
}

TEST(DesignProgram, AdmitsAFeatureOnlyAfterThreeSightings) {
  TestProgram p(kCtr);
  const Batch batch = MakeBatch(1, 3);  // each id once a step
  p.Run("train", batch.ForTrain());
  p.Run("train", batch.ForTrain());
  EXPECT_EQ(p.state().table("feat").size(), 0u);
  p.Run("train", batch.ForTrain());
  EXPECT_EQ(p.state().table("feat").size(), 26u);
}

TEST(DesignProgram, RefusesAStepWhoseLossIsNotFinite) {
  TestProgram p(kCtr);
  Batch batch = MakeBatch(4, 3);
  p.Run("train", batch.ForTrain());
  const Tensor w = p.state().GetTensor("fc1.w");
  const uint64_t rows = p.state().table("feat").size();
  batch.dense.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 5; ++i) {
    const RunResult r = p.Run("train", batch.ForTrain());
    EXPECT_TRUE(r.refused);
    EXPECT_FALSE(r.committed);
  }
  EXPECT_EQ(p.state().step(), 1);
  EXPECT_TRUE(p.state().GetTensor("fc1.w").Equals(w));
  EXPECT_EQ(p.state().table("feat").size(), rows);
}

TEST(DesignProgram, ErrorShowsBothSides) {
  const std::string error = ErrorOf(R"(program bad
param @w1 : f32[429, 400] = zeros
fn f(ids: f32[B, 26, 16]) -> f32[B, 400] {
  x = reshape(ids, [B, 416])
  return relu(matmul(x, @w1))
}
)");
  EXPECT_EQ(error, R"(test.ctm:5: matmul: inner dimensions differ: 416 and 429
    5 |   return relu(matmul(x, @w1))
      |               ^^^^^^
  x   : f32[B, 416]    from reshape, test.ctm:4
  @w1 : f32[429, 400]  declared at test.ctm:2)");
}

}  // namespace
}  // namespace catamaran

// Small versions of whole models, made of our layers: each learns something that is made here.

#include "catamaran/nn/layer_test_util.h"

namespace catamaran {
namespace {

using Feeds = TestProgram::Feeds;

// Runs `train` on one batch again and again; the loss must fall to less than `share` of the first.
void ExpectLearns(TestProgram& p, const Feeds& feeds, int steps, double share) {
  const double first = p.Scalar("train", feeds);
  double last = first;
  for (int i = 0; i < steps; ++i) last = p.Scalar("train", feeds);
  EXPECT_LT(last, share * first) << "from " << first;
  EXPECT_GT(first, 0);
}

Tensor RandomInts(const Shape& shape, uint32_t seed, int64_t count) {
  std::mt19937 random(seed);
  Tensor t = Tensor::Allocate(DType::kI64, shape);
  for (int64_t& v : t.mutable_data<int64_t>()) v = static_cast<int64_t>(random()) % count;
  return t;
}
Tensor RandomIds(const Shape& shape, uint32_t seed, int64_t count) {
  const Tensor ints = RandomInts(shape, seed, count);
  Tensor t = Tensor::Allocate(DType::kU64, shape);
  for (size_t i = 0; i < ints.data<int64_t>().size(); ++i) {
    t.mutable_data<uint64_t>()[i] = static_cast<uint64_t>(ints.data<int64_t>()[i]);
  }
  return t;
}
Tensor RandomLabels(int64_t rows, uint32_t seed) {
  const Tensor ints = RandomInts(Shape({rows}), seed, 2);
  Tensor t = Tensor::Allocate(DType::kF32, Shape({rows}));
  for (size_t i = 0; i < ints.data<int64_t>().size(); ++i) {
    t.mutable_data<float>()[i] = static_cast<float>(ints.data<int64_t>()[i]);
  }
  return t;
}

TEST(Model, LeNet) {
  TestProgram p(R"(program lenet
c1 = conv(1, 6, 5, padding=2)
c2 = conv(6, 16, 5)
top = mlp([400, 120, 84, 10])
fn net(x: f32[B, 1, 28, 28]) -> f32[B, 10] {
  a = max_pool(relu(c1(x)), kernel=2)
  b = max_pool(relu(c2(a)), kernel=2)
  return top(reshape(b, [B, 400]))
}
fn loss(x: f32[B, 1, 28, 28], y: i64[B]) -> f32[] { return mean(softmax_cross_entropy(net(x), y)) }
train = momentum(grad(loss), lr=0.05)
)");
  ExpectLearns(
      p, {{"x", RandomTensor(Shape({8, 1, 28, 28}), 1)}, {"y", RandomInts(Shape({8}), 2, 10)}}, 30,
      0.3);
}

TEST(Model, ResidualNetwork) {
  TestProgram p(R"(program resnet
builder block(I: int, O: int, S: int) {
  c1 = conv(I, O, 3, stride=S, padding=1, bias=false)
  n1 = norm(O, rank=4)
  c2 = conv(O, O, 3, padding=1, bias=false)
  n2 = norm(O, rank=4)
  fn (x: f32[B, I, H, W], training: static bool = false) {
    return n2(c2(relu(n1(c1(x), training=training))), training=training)
  }
}
builder down(I: int, O: int, S: int) {
  c = conv(I, O, 1, stride=S, bias=false)
  n = norm(O, rank=4)
  fn (x: f32[B, I, H, W], training: static bool = false) { return n(c(x), training=training) }
}
stem = conv(3, 8, 3, padding=1, bias=false)
r1 = residual(block(8, 8, 1), activation=relu)
r2 = residual(block(8, 16, 2), shortcut=down(8, 16, 2), activation=relu)
fc = linear(16, 10)
fn net(x: f32[B, 3, 8, 8], training: static bool = false) -> f32[B, 10] {
  a = r1(relu(stem(x)), training=training)
  return fc(global_avg_pool(r2(a, training=training)))
}
fn infer(x: f32[B, 3, 8, 8]) -> f32[B, 10] { return net(x) }
fn loss(x: f32[B, 3, 8, 8], y: i64[B]) -> f32[] {
  return mean(softmax_cross_entropy(net(x, training=true), y))
}
train = momentum(grad(loss), lr=0.05)
)");
  EXPECT_NE(p.flat().items.FindState("r2.down.c.w"), nullptr);
  const Feeds feeds = {{"x", RandomTensor(Shape({8, 3, 8, 8}), 1)},
                       {"y", RandomInts(Shape({8}), 2, 10)}};
  const Tensor before = p.state().GetTensor("r1.block.n1.mean");
  ExpectLearns(p, feeds, 40, 0.3);
  EXPECT_FALSE(p.state().GetTensor("r1.block.n1.mean").Equals(before));
}

TEST(Model, InvertedResiduals) {
  TestProgram p(R"(program mobilenet
builder inverted(I: int, M: int, O: int) {
  up = conv(I, M, 1, bias=false)
  n1 = norm(M, rank=4)
  deep = conv(M, M, 3, padding=1, groups=M, bias=false)
  n2 = norm(M, rank=4)
  down = conv(M, O, 1, bias=false)
  n3 = norm(O, rank=4)
  fn (x: f32[B, I, H, W], training: static bool = false) {
    a = relu6(n1(up(x), training=training))
    b = relu6(n2(deep(a), training=training))
    return n3(down(b), training=training)
  }
}
r1 = residual(inverted(4, 24, 4))
i2 = inverted(4, 24, 8)
fc = linear(8, 5)
fn net(x: f32[B, 4, 6, 6], training: static bool = false) -> f32[B, 5] {
  return fc(global_avg_pool(i2(r1(x, training=training), training=training)))
}
fn loss(x: f32[B, 4, 6, 6], y: i64[B]) -> f32[] {
  return mean(softmax_cross_entropy(net(x, training=true), y))
}
train = adam(grad(loss), lr=0.01)
)");
  ExpectLearns(p,
               {{"x", RandomTensor(Shape({8, 4, 6, 6}), 1)}, {"y", RandomInts(Shape({8}), 2, 5)}},
               40, 0.3);
}

constexpr const char* kClicks = R"(
fn infer(user: u64[B, 1], item: u64[B, 1], genres: u64[B, *G], dense: f32[B, 3]) -> f32[B] {
  return sigmoid(logits(user, item, genres, dense))
}
fn loss(user: u64[B, 1], item: u64[B, 1], genres: u64[B, *G], dense: f32[B, 3], label: f32[B]) -> f32[] {
  return mean(binary_cross_entropy_logits(logits(user, item, genres, dense), label))
}
g = grad(loss)
opt = adam(g, lr=0.02)
fn train(user: u64[B, 1], item: u64[B, 1], g: u64[N], n: i64[B], dense: f32[B, 3], label: f32[B]) -> f32[] {
  return opt(user, item, ragged(g, n), dense, label)
}
)";

TEST(Model, ForClicks) {
  const std::string head = R"(program clicks
table @feat : u64 -> f32[9] = normal(std=0.05) { optimizer = adagrad(lr=0.1), features = [user, item, genres] }
emb = table_features(@feat, [user, item], bags=[genres])
)";
  const std::string args =
      "(user: u64[B, 1], item: u64[B, 1], genres: u64[B, *G], dense: f32[B, 3]) -> f32[B] {\n"
      "  e = emb(user, item, genres)\n  x = concat(reshape(e, [B, 27]), dense, axis=1)\n";
  const std::pair<const char*, std::string> models[] = {{"logistic regression", R"(
wide = linear(30, 1)
fn logits)" + args + "  return reshape(wide(x), [B])\n}\n"},
                                                        {"factorisation machine", R"(
fm = factorization_machine(joint=true)
fn logits)" + args + "  return fm(e)\n}\n"},
                                                        {"wide and deep", R"(
wide = linear(30, 1)
deep = mlp([30, 16, 1])
fn logits)" + args + "  return reshape(wide(x) + deep(x), [B])\n}\n"},
                                                        {"DeepFM", R"(
fm = factorization_machine(joint=true)
deep = mlp([30, 16, 1])
fn logits)" + args + "  return fm(e) + reshape(deep(x), [B])\n}\n"},
                                                        {"DCN v2", R"(
cross = cross_network(30, 2)
low = cross_network(30, 1, low_rank=4)
deep = mlp([30, 16], last=relu)
out = linear(46, 1)
fn logits)" + args + "  return reshape(out(concat(low(cross(x)), deep(x), axis=1)), [B])\n}\n"},
                                                        {"DLRM", R"(
bottom = mlp([3, 9], last=relu)
meet = dot_interaction()
top = mlp([15, 16, 1])
fn logits)" + args + "  return reshape(top(meet(bottom(dense), e)), [B])\n}\n"}};
  const int64_t rows = 32;
  Tensor n = Tensor::Allocate(DType::kI64, Shape({rows}));
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
    n.mutable_data<int64_t>()[i] = static_cast<int64_t>(i % 4);
  }
  for (const auto& [name, text] : models) {
    SCOPED_TRACE(name);
    TestProgram p(head + text + kClicks);
    ExpectLearns(p,
                 {{"user", RandomIds(Shape({rows, 1}), 1, 12)},
                  {"item", RandomIds(Shape({rows, 1}), 2, 12)},
                  {"g", RandomIds(Shape({48}), 3, 6)},
                  {"n", n},
                  {"dense", RandomTensor(Shape({rows, 3}), 4)},
                  {"label", RandomLabels(rows, 5)}},
                 60, 0.6);
  }
}

TEST(Model, DeepInterestNetwork) {
  TestProgram p(R"(program din
table @feat : u64 -> f32[4] = normal(std=0.1) { optimizer = adagrad(lr=0.1), features = [item, user] }
interest = din_attention(4, hidden=[8])
top = mlp([12, 16, 1])
fn logits(user: u64[B], item: u64[B], history: u64[B, *T]) -> f32[B] {
  target = lookup(@feat, item, feature=item)
  past = interest(target, lookup(@feat, history, feature=item))
  x = concat(lookup(@feat, user, feature=user), target, past, axis=1)
  return reshape(top(x), [B])
}
fn loss(user: u64[B], item: u64[B], h: u64[N], n: i64[B], label: f32[B]) -> f32[] {
  return mean(binary_cross_entropy_logits(logits(user, item, ragged(h, n)), label))
}
train = adam(grad(loss), lr=0.02)
)");
  Tensor n = Tensor::Allocate(DType::kI64, Shape({16}));
  for (size_t i = 0; i < 16; ++i) n.mutable_data<int64_t>()[i] = static_cast<int64_t>(i % 4);
  ExpectLearns(p,
               {{"user", RandomIds(Shape({16}), 1, 8)},
                {"item", RandomIds(Shape({16}), 2, 8)},
                {"h", RandomIds(Shape({24}), 3, 8)},
                {"n", n},
                {"label", RandomLabels(16, 5)}},
               60, 0.5);
}

TEST(Model, LanguageModels) {
  const std::string head = "program text\ntok = embedding(11, 16, rank=2)\n";
  const std::string tail = R"(
fn loss(ids: i64[B, T], next: i64[B, T]) -> f32[] {
  return mean(softmax_cross_entropy(net(ids, training=true), next))
}
train = adamw(clip(grad(loss), norm=1.0), lr=0.01, no_decay=["*.b"])
)";
  const std::pair<const char*, const char*> models[] = {{"lstm", R"(
rnn = lstm(16, 24, layers=2, dropout=0.1)
head = linear(24, 11, rank=3)
fn net(ids: i64[B, T], training: static bool = false) -> f32[B, T, 11] {
  return head(rnn(tok(ids), training=training))
}
)"},
                                                        {"gru", R"(
rnn = gru(16, 24)
head = linear(24, 11, rank=3)
fn net(ids: i64[B, T], training: static bool = false) -> f32[B, T, 11] {
  return head(rnn(tok(ids), training=training))
}
)"},
                                                        {"gpt", R"(
pos = positions(8, 16)
b1 = transformer_block(16, 2, causal=true, dropout=0.05)
b2 = transformer_block(16, 2, causal=true, dropout=0.05)
last = norm(16, kind="layer", rank=3)
head = linear(16, 11, rank=3, bias=false)
fn net(ids: i64[B, T], training: static bool = false) -> f32[B, T, 11] {
  a = b1(pos(tok(ids)), training=training)
  return head(last(b2(a, training=training)))
}
)"}};
  for (const auto& [name, text] : models) {
    SCOPED_TRACE(name);
    TestProgram p(head + text + tail);
    ExpectLearns(
        p, {{"ids", RandomInts(Shape({4, 8}), 1, 11)}, {"next", RandomInts(Shape({4, 8}), 2, 11)}},
        80, 0.5);
  }
}

TEST(Model, TextClassifiersOverSequencesOfDifferentLength) {
  const std::pair<const char*, const char*> models[] = {
      {"bag",
       "fn net(s: i64[B, *T], training: static bool = false) -> f32[B, 3] {\n"
       "  return head(ragged_pool(tok(s), pool=mean))\n}\n"},
      {"lstm",
       "rnn = lstm(8, 8, ragged=true, length=5, give=last)\n"
       "fn net(s: i64[B, *T], training: static bool = false) -> f32[B, 3] {\n"
       "  return head(rnn(tok(s), training=training))\n}\n"},
      {"transformer",
       "pos = positions(5, 8, ragged=true)\n"
       "b1 = transformer_block(8, 2, ragged=true, dropout=0.1)\n"
       "fn net(s: i64[B, *T], training: static bool = false) -> f32[B, 3] {\n"
       "  return head(ragged_pool(b1(pos(tok(s)), training=training), pool=mean))\n}\n"}};
  for (const auto& [name, text] : models) {
    SCOPED_TRACE(name);
    TestProgram p(std::string("program classify\ntok = embedding(20, 8, ragged=true)\n"
                              "head = linear(8, 3)\n") +
                  text + R"(
fn loss(ids: i64[N], n: i64[B], y: i64[B]) -> f32[] {
  return mean(softmax_cross_entropy(net(ragged(ids, n), training=true), y))
}
train = adam(grad(loss), lr=0.03)
)");
    ExpectLearns(p,
                 {{"ids", RandomInts(Shape({15}), 1, 20)},
                  {"n", Tensor::From<int64_t>(Shape({5}), {3, 5, 1, 2, 4})},
                  {"y", RandomInts(Shape({5}), 2, 3)}},
                 100, 0.3);
  }
}

}  // namespace
}  // namespace catamaran

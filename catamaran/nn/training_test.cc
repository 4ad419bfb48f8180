// Small networks, trained on data that is made here from fixed seeds, to stated results.

#include <cmath>
#include <cstring>
#include <random>

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

using Feeds = TestProgram::Feeds;

// Random numbers that are the same with every standard library.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : random_(seed) {}
  int Int(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  float Uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(random_() >> 8) / 16777216.0f);
  }

 private:
  std::mt19937 random_;
};

// All that a state holds, as bytes.
std::string Bytes(const State& state) {
  std::string bytes;
  state.ForEach([&](const StateInfo& info, const Tensor& t) {
    bytes.append(info.name);
    bytes.append(static_cast<const char*>(t.raw_data()), t.num_bytes());
  });
  return bytes;
}

// The share of rows whose largest entry is the label's.
double Accuracy(const Tensor& scores, const Tensor& labels) {
  const int64_t classes = scores.shape()[1];
  int64_t right = 0;
  for (int64_t b = 0; b < labels.num_elements(); ++b) {
    const auto row = scores.data<float>().subspan(static_cast<size_t>(b * classes),
                                                  static_cast<size_t>(classes));
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    right += best == labels.data<int64_t>()[static_cast<size_t>(b)];
  }
  return static_cast<double>(right) / static_cast<double>(labels.num_elements());
}
double BinaryAccuracy(const Tensor& probabilities, const Tensor& labels) {
  int right = 0;
  for (size_t b = 0; b < labels.data<float>().size(); ++b) {
    right += (probabilities.data<float>()[b] > 0.5f) == (labels.data<float>()[b] > 0.5f);
  }
  return static_cast<double>(right) / static_cast<double>(labels.num_elements());
}

constexpr const char* kGlyphs[] = {
    "#####..#....#....#....#..",  // T
    "#....#....#....#....#####",  // L
    "#...#.#.#...#...#.#.#...#",  // X
    "#####....#...#...#...####",  // Z
    "..#....#..#####..#....#..",  // +
    "######...##...##...######",  // O
};

// Glyphs of 5 by 5 somewhere in an image of 8 by 8, with noise.
Feeds GlyphBatch(uint32_t seed, int64_t count) {
  Numbers numbers(seed);
  Tensor x = Tensor::Zeros(DType::kF32, {count, 1, 8, 8});
  Tensor label = Tensor::Zeros(DType::kI64, {count});
  for (int64_t b = 0; b < count; ++b) {
    const int glyph = numbers.Int(6), left = numbers.Int(4), top = numbers.Int(4);
    float* image = x.mutable_data<float>().data() + b * 64;
    for (int i = 0; i < 64; ++i) image[i] = numbers.Uniform(-0.5f, 0.5f);
    for (int i = 0; i < 25; ++i) {
      if (kGlyphs[glyph][i] == '#') image[(top + i / 5) * 8 + left + i % 5] += 1;
    }
    label.mutable_data<int64_t>()[static_cast<size_t>(b)] = glyph;
  }
  return {{"x", x}, {"label", label}};
}

constexpr std::string_view kGlyphNet = R"(program glyphs
c1 = conv(1, 8, 3, padding=1)
n1 = norm(8, rank=4)
c2 = conv(8, 16, 3, stride=2, padding=1)
d1 = dropout(0.2)
top = mlp([256, 32, 6])
fn net(x: f32[B, 1, 8, 8], training: static bool = false) -> f32[B, 6] {
  h = relu(n1(c1(x), training=training))
  flat = reshape(relu(c2(h)), [B, 256])
  return top(d1(flat, training=training))
}
fn infer(x: f32[B, 1, 8, 8]) -> f32[B, 6] { return softmax(net(x)) }
fn loss(x: f32[B, 1, 8, 8], label: i64[B]) -> f32[] {
  return mean(softmax_cross_entropy(net(x, training=true), label))
}
train = adam(clip(grad(loss), norm=5.0), lr=0.004)
)";

struct Trained {
  double accuracy = 0;
  std::string bytes;
};

Trained TrainGlyphs(const CompileOptions& options, int steps) {
  TestProgram p(kGlyphNet, 7, options);
  for (int step = 0; step < steps; ++step) {
    EXPECT_TRUE(p.Run("train", GlyphBatch(static_cast<uint32_t>(step) + 100, 32)).committed);
  }
  Feeds held_out = GlyphBatch(1, 500);
  const Tensor label = held_out.at("label");
  held_out.erase("label");
  return {Accuracy(p.Run("infer", held_out).outputs[0], label), Bytes(p.state())};
}

TEST(Training, AConvolutionalNetworkReads95PercentOfNoisyGlyphs) {
  const Trained trained = TrainGlyphs({}, 150);
  EXPECT_GE(trained.accuracy, 0.95);
  // A network that has learned nothing reads one in six.
  EXPECT_LT(TrainGlyphs({}, 0).accuracy, 0.4);
}

TEST(Training, GivesTheSameBitsEveryTimeAndWithEverySchedule) {
  for (const int threads : {1, 2}) {
    const std::string once = TrainGlyphs({.threads = threads}, 12).bytes;
    EXPECT_EQ(once, TrainGlyphs({.threads = threads}, 12).bytes) << threads << " threads, again";
    EXPECT_EQ(once, TrainGlyphs({.threads = threads, .schedule = Schedule::kReadyOps}, 12).bytes)
        << threads << " threads, ready ops";
    EXPECT_NE(once, TrainGlyphs({.threads = threads}, 13).bytes);
  }
}

TEST(Training, OnlyTheRowsOfAnEmbeddingThatWereUsedChange) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    TestProgram p(fmt::format(R"(program t
e = embedding(10, 4, rank=2)
fc = linear(4, 1)
fn loss(ids: i64[B, 2], y: f32[B]) -> f32[] {{
  pair = sum(e(ids), axes=[1])
  return mean(square(reshape(fc(pair), [B]) - y))
}}
train = {}(grad(loss), lr=0.05)
)",
                              optimizer));
    const Tensor before = p.state().GetTensor("e.w");
    const Feeds feeds = {{"ids", Tensor::From<int64_t>(Shape({3, 2}), {1, 3, 3, 7, 7, 7})},
                         {"y", Tensor::From<float>(Shape({3}), {1.0f, -1.0f, 0.5f})}};
    const double first = p.Scalar("train", feeds);
    double last = first;
    for (int step = 0; step < 300; ++step) last = p.Scalar("train", feeds);
    EXPECT_LT(last, first / 4) << optimizer;
    const Tensor after = p.state().GetTensor("e.w");
    for (int64_t row = 0; row < 10; ++row) {
      const bool used = row == 1 || row == 3 || row == 7;
      const bool same = std::memcmp(before.data<float>().data() + row * 4,
                                    after.data<float>().data() + row * 4, 16) == 0;
      EXPECT_EQ(same, !used) << optimizer << ", row " << row;
    }
  }
}

TEST(Training, InferenceNormalisesWithTheMovingAverages) {
  TestProgram p(R"(program t
n = norm(2, momentum=0.5)
fc = linear(2, 1)
fn net(x: f32[B, 2], training: static bool = false) -> f32[B, 2] { return n(x, training=training) }
fn infer(x: f32[B, 2]) -> f32[B, 2] { return net(x) }
fn loss(x: f32[B, 2], y: f32[B, 1]) -> f32[] {
  return mean(square(fc(net(x, training=true)) - y))
}
train = sgd(grad(loss), lr=0.05)
)");
  Numbers numbers(3);
  for (int step = 0; step < 40; ++step) {
    Tensor x = Tensor::Zeros(DType::kF32, {64, 2}), y = Tensor::Zeros(DType::kF32, {64, 1});
    for (size_t b = 0; b < 64; ++b) {
      x.mutable_data<float>()[2 * b] = numbers.Uniform(4, 6);
      x.mutable_data<float>()[2 * b + 1] = numbers.Uniform(-30, -10);
      y.mutable_data<float>()[b] = x.data<float>()[2 * b] - 5;
    }
    p.Run("train", {{"x", x}, {"y", y}});
  }
  const auto value = [&](const char* path, size_t i) {
    return static_cast<double>(p.state().GetTensor(path).data<float>()[i]);
  };
  // The mean and variance of what it saw: (4 + 6) / 2, (6 - 4)² / 12, …
  EXPECT_NEAR(value("n.mean", 0), 5, 0.2);
  EXPECT_NEAR(value("n.mean", 1), -20, 2);
  EXPECT_NEAR(value("n.var", 0), 1.0 / 3, 0.1);
  EXPECT_NEAR(value("n.var", 1), 100.0 / 3, 10);
  // One row, far from all of them: its batch alone has no variance.
  const Tensor x = Tensor::From<float>(Shape({1, 2}), {9.0f, 3.0f});
  const Tensor y = p.Run("infer", {{"x", x}}).outputs[0];
  for (size_t i = 0; i < 2; ++i) {
    const double expected = (x.data<float>()[i] - value("n.mean", i)) /
                                std::sqrt(value("n.var", i) + 1e-5) * value("n.scale", i) +
                            value("n.offset", i);
    EXPECT_NEAR(y.data<float>()[i], expected, 1e-4 * std::abs(expected));
  }
}

// Bags of keys of different length, some of them empty. A bag is good when more of its keys are
// even than odd.
Feeds Bags(uint32_t seed, int64_t count, Tensor& label) {
  Numbers numbers(seed);
  std::vector<uint64_t> ids;
  std::vector<int64_t> offsets = {0};
  std::vector<float> good;
  for (int64_t b = 0; b < count; ++b) {
    const int length = 2 * numbers.Int(4);
    int even = 0;
    for (int i = 0; i < length + (length > 0); ++i) {
      ids.push_back(static_cast<uint64_t>(numbers.Int(60)) + 1'000'000'000'000u);
      even += ids.back() % 2 == 0 ? 1 : -1;
    }
    good.push_back(even > 0 ? 1.0f : 0.0f);
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  label = Tensor::FromVector<float>(good);
  return {{"ids", Tensor::FromVector<uint64_t>(ids)},
          {"ids.offsets", Tensor::FromVector<int64_t>(offsets)}};
}

TEST(Training, ARaggedLookUpWithPoolingTrainsItsTable) {
  for (const char* pool : {"sum", "mean", "sqrt"}) {
    TestProgram p(fmt::format(R"(program t
table @t : u64 -> f32[4] = normal(std=0.05) {{ optimizer = adagrad(lr=0.2) }}
fc = linear(4, 1)
fn infer(ids: u64[B, *T]) -> f32[B] {{
  return sigmoid(reshape(fc(lookup(@t, ids, pool={})), [B]))
}}
fn loss(ids: u64[B, *T], label: f32[B]) -> f32[] {{
  observe(@t, ids, show=1)
  return mean(binary_cross_entropy(infer(ids), label))
}}
train = adam(grad(loss), lr=0.02)
)",
                              pool));
    for (uint32_t step = 0; step < 120; ++step) {
      Tensor label;
      Feeds feeds = Bags(step + 10, 40, label);
      feeds["label"] = label;
      ASSERT_TRUE(p.Run("train", feeds).committed);
    }
    EXPECT_EQ(p.state().table("t").size(), 60u) << pool;
    Tensor label;
    const Feeds feeds = Bags(1, 300, label);
    EXPECT_GE(BinaryAccuracy(p.Run("infer", feeds).outputs[0], label), 0.95) << pool;
  }
}

// Sequences of 6 pairs; the first number says what it is worth, the second whether it counts.
Feeds Sequences(uint32_t seed, int64_t count, Tensor& label) {
  Numbers numbers(seed);
  Tensor x = Tensor::Zeros(DType::kF32, {count, 6, 2});
  label = Tensor::Zeros(DType::kF32, {count});
  for (int64_t b = 0; b < count; ++b) {
    float sum = 0;
    while (std::abs(sum) < 0.3f) {
      sum = 0;
      for (int t = 0; t < 6; ++t) {
        float* at = x.mutable_data<float>().data() + (b * 6 + t) * 2;
        at[0] = numbers.Uniform(-1, 1);
        at[1] = static_cast<float>(numbers.Int(2));
        sum += at[0] * at[1];
      }
    }
    label.mutable_data<float>()[static_cast<size_t>(b)] = sum > 0 ? 1.0f : 0.0f;
  }
  return {{"x", x}};
}

TEST(Training, ARecurrentNetworkTrainsThroughForAndWhile) {
  std::vector<Tensor> weights;
  for (const char* loop : {"for k in range(6) with (h = h0)", "while k < 6 with (k = 0, h = h0)"}) {
    const bool is_for = loop[0] == 'f';
    TestProgram p(fmt::format(R"(program t
param @u : f32[12, 12] = normal(std=0.2)
param @w : f32[2, 12] = normal(std=0.5)
param @b : f32[12] = zeros
out = linear(12, 1)
fn infer(x: f32[B, 6, 2]) -> f32[B] {{
  h0 = expand(@b * 0.0, [B, 12])
  {} = {} {{
    step = reshape(slice(x, axis=1, at=k, size=1), [B, 2])
    next = tanh(matmul(h, @u) + matmul(step, @w) + @b)
    yield {}next
  }}
  return sigmoid(reshape(out(last), [B]))
}}
fn loss(x: f32[B, 6, 2], label: f32[B]) -> f32[] {{
  return mean(binary_cross_entropy(infer(x), label))
}}
train = adam(clip(grad(loss), norm=1.0), lr=0.01)
)",
                              is_for ? "last" : "rounds, last", loop, is_for ? "" : "k + 1, "),
                  5);
    for (uint32_t step = 0; step < 300; ++step) {
      Tensor label;
      Feeds feeds = Sequences(step + 10, 32, label);
      feeds["label"] = label;
      ASSERT_TRUE(p.Run("train", feeds).committed);
    }
    Tensor label;
    const Feeds feeds = Sequences(1, 300, label);
    EXPECT_GE(BinaryAccuracy(p.Run("infer", feeds).outputs[0], label), 0.95) << loop;
    weights.push_back(p.state().GetTensor("u"));
  }
  // The same computation, written in two ways.
  EXPECT_TRUE(weights[0].Equals(weights[1]));
}

TEST(Training, AGradientPenaltyHoldsTheSlopeOfACritic) {
  TestProgram p(R"(program t
net = mlp([2, 24, 24, 1], activation="tanh")
fn critic(x: f32[B, 2]) -> f32[B] { return reshape(net(x), [B]) }
fn total(x: f32[B, 2]) -> f32[] { return sum(critic(x)) }
slope = grad(total, wrt=[x])
fn slopes(x: f32[B, 2]) -> f32[B] {
  value, dx = slope(x)
  return sqrt(sum(square(dx), axes=[1]) + 0.000001)
}
fn loss(real: f32[B, 2], fake: f32[B, 2], mix: f32[B, 2]) -> f32[] {
  penalty = mean(square(slopes(mix) - 1.0))
  return mean(critic(fake)) - mean(critic(real)) + 10.0 * penalty
}
train = adam(grad(loss), lr=0.005)
)");
  Numbers numbers(9);
  const auto cloud = [&](float x, float y) {
    Tensor t = Tensor::Zeros(DType::kF32, {64, 2});
    for (size_t b = 0; b < 64; ++b) {
      t.mutable_data<float>()[2 * b] = x + numbers.Uniform(-0.5f, 0.5f);
      t.mutable_data<float>()[2 * b + 1] = y + numbers.Uniform(-0.5f, 0.5f);
    }
    return t;
  };
  Tensor mix;
  double loss = 0;
  for (int step = 0; step < 300; ++step) {
    const Tensor real = cloud(1, 1), fake = cloud(-1, -1);
    mix = Tensor::Zeros(DType::kF32, {64, 2});
    for (size_t b = 0; b < 64; ++b) {
      const float share = numbers.Uniform(0, 1);
      for (size_t i = 2 * b; i < 2 * b + 2; ++i) {
        mix.mutable_data<float>()[i] =
            share * real.data<float>()[i] + (1 - share) * fake.data<float>()[i];
      }
    }
    loss = p.Scalar("train", {{"real", real}, {"fake", fake}, {"mix", mix}});
  }
  // With slope s and distance d = 2·√2 the loss is 10·(s - 1)² - d·s: least at s = 1 + d / 20.
  const double distance = 2 * std::sqrt(2.0);
  EXPECT_NEAR(loss, -distance - distance * distance / 40, 0.2);
  const Tensor slopes = p.Run("slopes", {{"x", mix}}).outputs[0];
  double mean = 0;
  for (const float s : slopes.data<float>()) mean += s / 64;
  EXPECT_NEAR(mean, 1 + distance / 20, 0.05);
}

}  // namespace
}  // namespace catamaran

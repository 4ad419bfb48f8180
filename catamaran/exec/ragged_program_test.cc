// A program whose sizes are decided on the way, several times over, and its gradient: sequences
// made, cut, joined, gathered and padded, and bags of ids with holes.

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/exec/test_program.h"
#include "catamaran/ops/samples.h"

namespace catamaran {
namespace {

using namespace test;

constexpr std::string_view kText = R"(program p
param @w : f32[4, 4] = normal(std=0.5)
param @e : f32[9, 4] = normal(std=0.5)
fn loss(v: f32[N, 4], n: i64[B], ids: i64[B, 3], rows: i64[K]) -> f32[] {
  x = ragged(v, n)
  h = relu(matmul(x, @w))
  t = ragged_slice(h, begin=1)
  c = ragged_concat(h, t)
  g = ragged_gather(ragged_reverse(c), rows)
  u = ragged_unpad(ragged_pad(c, length=3), n)
  a = ragged_pool(ragged_softmax(g) * g, pool=sum)
  b = ragged_pool(u, pool=mean)
  m = embedding_bag(@e, ids, padding=-1, pool=mean)
  k = embedding_bag(@e, ids, padding=-1, pool=max)
  return sum(square(a)) + sum(square(b + m + k)) + sum(square(ragged_values(c)))
}
by_state = grad(loss)
by_input = grad(loss, wrt=[v])
)";

struct Feeds {
  Tensor v, n, ids, rows;
  std::vector<FeedValue> list() const { return {v, n, ids, rows}; }
};

Feeds FeedsOf(const std::vector<int64_t>& lengths) {
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  return {Uniform({total, 4}, -1, 1, 5), Tensor::FromVector(Shape{3}, lengths),
          Ints({3, 3}, {1, -1, 2, -1, -1, -1, 3, 3, 8}), Ints({2}, {2, 0})};
}

TEST(RaggedProgram, ItsGradientAgreesWithFiniteDifferences) {
  const Program flat = FlatProgram(kText);
  const auto state = State::Create(flat, 3);
  const auto loss = Compile(flat, "loss", {});
  for (const int threads : {1, 2}) {
    const auto by_input = Compile(flat, "by_input", {.threads = threads});
    const auto by_state = Compile(flat, "by_state", {.threads = threads});
    for (const auto& lengths : std::vector<std::vector<int64_t>>{{2, 0, 3}, {1, 1, 1}, {3, 3, 1}}) {
      const Feeds feeds = FeedsOf(lengths);
      const RunResult result = by_input->Run(*state, feeds.list());
      EXPECT_EQ(by_state->Run(*state, feeds.list()).outputs[0].item<float>(),
                result.outputs[0].item<float>());
      for (size_t i = 0; i < feeds.v.data<float>().size(); ++i) {
        const auto at = [&](float by) {
          Feeds moved = feeds;
          moved.v = feeds.v.Clone();
          moved.v.mutable_data<float>()[i] += by;
          return static_cast<double>(loss->Run(*state, moved.list()).outputs[0].item<float>());
        };
        const double numeric = (at(2e-3f) - at(-2e-3f)) / 4e-3;
        EXPECT_NEAR(result.outputs[1].data<float>()[i], numeric, 2e-2 + 2e-2 * std::fabs(numeric))
            << i;
      }
    }
  }
}

}  // namespace
}  // namespace catamaran

// One training step of a character transformer with AdamW: 4 layers, width 256, 4 heads, context
// 128.

#include <fmt/format.h>

#include "bench/train/training.h"

namespace catamaran::bench {
namespace {

constexpr const char* kProgram = R"(program gpt
builder block() {
  norm1 = norm(256, kind="layer", rank=3)
  qkv = linear(256, 768, rank=3)
  out = linear(256, 256, rank=3)
  norm2 = norm(256, kind="layer", rank=3)
  up = linear(256, 1024, rank=3)
  down = linear(1024, 256, rank=3)
  fn heads(x: f32[B, T, 256]) -> f32[B, 4, T, 64] {
    return transpose(reshape(x, [B, T, 4, 64]), perm=[0, 2, 1, 3])
  }
  fn (x: f32[B, T, 256]) -> f32[B, T, 256] {
    q, k, v = split(qkv(norm1(x)), axis=2)
    y, sums = attention(heads(q), heads(k), heads(v), causal=true)
    h = x + out(reshape(transpose(y, perm=[0, 2, 1, 3]), [B, T, 256]))
    return h + down(gelu(up(norm2(h))))
  }
}
param @tokens : f32[65, 256]
param @places : f32[128, 256]
b1 = block()
b2 = block()
b3 = block()
b4 = block()
last = norm(256, kind="layer", rank=3)
head = linear(256, 65, rank=3, bias=false)

fn infer(text: i64[B, 128]) -> f32[B, 128, 65] {
  x = embedding(@tokens, text) + @places
  return head(last(b4(b3(b2(b1(x))))))
}
fn loss(text: i64[B, 128], next: i64[B, 128]) -> f32[] {
  return mean(softmax_cross_entropy(infer(text), next))
}
train = adamw(grad(loss), lr=0.0005, weight_decay=0.01)
)";

// As in bench/peers/gpt_torch.py. Weights are a quarter of what FirstWeight says, as is usual.
TrainingSetup Gpt(int64_t batch) {
  TrainingSetup setup{.program = kProgram, .steps = 3};
  uint32_t seed = 10;
  const auto add = [&](const std::string& path, const Shape& shape) {
    Tensor w = FirstWeight(seed++, shape, shape[0]);
    for (float& v : w.mutable_data<float>()) v *= 0.25f;
    setup.weights.emplace_back(path, std::move(w));
  };
  add("tokens", {65, 256});
  add("places", {128, 256});
  for (int k = 1; k <= 4; ++k) {
    add(fmt::format("b{}.qkv.w", k), {256, 768});
    add(fmt::format("b{}.out.w", k), {256, 256});
    add(fmt::format("b{}.up.w", k), {256, 1024});
    add(fmt::format("b{}.down.w", k), {1024, 256});
  }
  add("head.w", {256, 65});
  for (uint32_t k = 0; k < 4; ++k) {
    const auto size = static_cast<size_t>(batch * 128);
    setup.batches.push_back({Tensor::FromVector<int64_t>({batch, 128}, Below(100 + k, size, 65)),
                             Tensor::FromVector<int64_t>({batch, 128}, Below(200 + k, size, 65))});
  }
  return setup;
}

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  return catamaran::bench::ServeTraining(argc, argv, catamaran::bench::Gpt);
}

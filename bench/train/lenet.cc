// One training step of LeNet-5 with Adam on images of 28 x 28.

#include "bench/train/training.h"
#include "bench/workload.h"

namespace catamaran::bench {
namespace {

constexpr const char* kProgram = R"(program lenet
c1 = conv(1, 6, 5, padding=2)
c2 = conv(6, 16, 5)
head = mlp([400, 120, 84, 10])

fn infer(image: f32[B, 1, 28, 28]) -> f32[B, 10] {
  a = max_pool(relu(c1(image)), kernel=2)
  b = max_pool(relu(c2(a)), kernel=2)
  return head(reshape(b, [B, 400]))
}
fn loss(image: f32[B, 1, 28, 28], label: i64[B]) -> f32[] {
  return mean(softmax_cross_entropy(infer(image), label))
}
train = adam(grad(loss), lr=0.001)
)";

// As in bench/peers/lenet.py.
TrainingSetup Lenet(int64_t batch) {
  TrainingSetup setup{.program = kProgram, .steps = 20};
  setup.weights = {{"c1.w", FirstWeight(10, {6, 1, 5, 5}, 25)},
                   {"c2.w", FirstWeight(11, {16, 6, 5, 5}, 150)},
                   {"head.fc1.w", FirstWeight(12, {400, 120}, 400)},
                   {"head.fc2.w", FirstWeight(13, {120, 84}, 120)},
                   {"head.fc3.w", FirstWeight(14, {84, 10}, 84)}};
  for (uint32_t k = 0; k < 4; ++k) {
    const auto rows = static_cast<size_t>(batch);
    setup.batches.push_back(
        {Tensor::FromVector<float>({batch, 1, 28, 28}, Uniform(100 + k, rows * 784)),
         Tensor::FromVector<int64_t>({batch}, Below(200 + k, rows, 10))});
  }
  return setup;
}

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  return catamaran::bench::ServeTraining(argc, argv, catamaran::bench::Lenet);
}

// One training step of a 784-512-512-10 network with Adam. With --gemm onednn|openblas: the matrix
// products of that step alone, by that library, and the memory traffic of Adam; the machine's
// limit. With --profile the steps are profiled: what that costs.

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/gemm.h"
#include "bench/stream.h"
#include "bench/train/training.h"
#include "bench/workload.h"
#include "catamaran/base/thread_pool.h"

namespace catamaran::bench {
namespace {

constexpr const char* kProgram = R"(program mlp

net = mlp([784, 512, 512, 10])

fn loss(x: f32[B, 784], label: i64[B]) -> f32[] {
  return mean(softmax_cross_entropy(net(x), label))
}

train = adam(grad(loss), lr=0.001)
)";

// As in bench/peers/mlp_step_torch.py.
constexpr int64_t kSizes[] = {784, 512, 512, 10};
constexpr int kLayers = 3;

TrainingSetup Mlp(int64_t batch) {
  TrainingSetup setup{.program = kProgram, .steps = batch == 1 ? 100 : batch == 32 ? 40 : 6};
  for (uint32_t k = 0; k < kLayers; ++k) {
    setup.weights.emplace_back(fmt::format("net.fc{}.w", k + 1),
                               FirstWeight(10 + k, {kSizes[k], kSizes[k + 1]}, kSizes[k]));
  }
  for (uint32_t k = 0; k < 4; ++k) {
    const auto rows = static_cast<size_t>(batch);
    setup.batches.push_back(
        {Tensor::FromVector<float>({batch, kSizes[0]}, Uniform(100 + k, rows * 784)),
         Tensor::FromVector<int64_t>({batch}, Below(200 + k, rows, 10))});
  }
  return setup;
}

class Limit final : public Case {
 public:
  Limit(int64_t batch, GemmLibrary library, int threads)
      : library_(library),
        pool_(threads),
        repeats_(batch == 1    ? 40
                 : batch == 32 ? 20
                               : 3) {
    int64_t parameters = 0;
    for (int k = 0; k < kLayers; ++k) {
      const int64_t in = kSizes[k], out = kSizes[k + 1];
      products_.push_back({fmt::format("forward{}", k + 1), {false, false, batch, out, in}});
      products_.push_back({fmt::format("weight{}", k + 1), {true, false, in, out, batch}});
      if (k > 0) {
        products_.push_back({fmt::format("input{}", k + 1), {false, true, batch, in, out}});
      }
      parameters += in * out + out;
    }
    for (auto& [name, shape] : products_) memory_.emplace_back(shape);
    for (std::vector<float>& array : arrays_) array = Uniform(1, parameters);
  }

  Measurement Run() override {
    Measurement m;
    for (size_t i = 0; i < products_.size(); ++i) {
      const auto once = [&] { memory_[i].Multiply(library_, pool_); };
      once();
      m.parts.emplace_back(products_[i].first, Timed(repeats_, once));
    }
    m.parts.emplace_back(
        "adam", Timed(20, [&] {
          pool_.ParallelFor(
              static_cast<int64_t>(arrays_[0].size()), 1 << 14, [&](int64_t begin, int64_t end) {
                UpdateTraffic(arrays_[0].data() + begin, arrays_[1].data() + begin,
                              arrays_[2].data() + begin, arrays_[3].data() + begin, end - begin);
              });
        }));
    for (const auto& [name, seconds] : m.parts) m.seconds += seconds;
    return m;
  }

 private:
  const GemmLibrary library_;
  ThreadPool pool_;
  const int repeats_;
  std::vector<std::pair<std::string, GemmShape>> products_;
  std::vector<GemmMemory> memory_;
  std::vector<float> arrays_[4];
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const std::string gemm = Option(argc, argv, "--gemm", "");
  if (gemm.empty()) return ServeTraining(argc, argv, Mlp);
  const int threads = std::atoi(Option(argc, argv, "--threads", "1").c_str());
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    return std::make_unique<Limit>(
        BatchOf(name), gemm == "onednn" ? GemmLibrary::kOneDnn : GemmLibrary::kOpenBlas, threads);
  });
}

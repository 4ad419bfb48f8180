// One training step of a 784-512-512-10 network with Adam. With --gemm onednn|openblas: the matrix
// products of that step alone, by that library, and the memory traffic of Adam; the machine's
// limit. With --profile the steps are profiled: what that costs.

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gemm.h"
#include "bench/stream.h"
#include "bench/worker.h"
#include "bench/workload.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/profile.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

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
constexpr int kBatches = 4;
int StepsOf(int64_t batch) { return batch == 1 ? 100 : batch == 32 ? 40 : 6; }

struct Batch {
  Tensor x, label;
};

Batch MakeBatch(int64_t batch, uint32_t k) {
  std::vector<int64_t> labels;
  for (float u : Uniform(200 + k, batch)) labels.push_back(static_cast<int64_t>(u * 10));
  return {Tensor::FromVector<float>({batch, kSizes[0]}, Uniform(100 + k, batch * kSizes[0])),
          Tensor::FromVector<int64_t>({batch}, labels)};
}

Tensor InitialWeight(uint32_t layer, int64_t fan_in, int64_t fan_out) {
  std::vector<float> w = Uniform(10 + layer, fan_in * fan_out);
  const float scale = static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in)));
  for (float& v : w) v = (v * 2 - 1) * scale;
  return Tensor::FromVector<float>({fan_in, fan_out}, w);
}

class Step final : public Case {
 public:
  Step(int64_t batch, int threads, bool profiled) : steps_(StepsOf(batch)) {
    if (profiled) options_.profile = &profile_;
    const auto builders = StandardBuilders();
    const Program flat = Flatten(Parse(kProgram, "mlp.ctm", StandardOps(), *builders), *builders);
    executable_ = Compile(flat, "train", {.threads = threads});
    state_ = State::Create(flat, 1);
    for (uint32_t k = 0; k < kLayers; ++k) {
      state_->SetTensor(fmt::format("net.fc{}.w", k + 1),
                        InitialWeight(k, kSizes[k], kSizes[k + 1]));
      state_->SetTensor(fmt::format("net.fc{}.b", k + 1),
                        Tensor::Zeros(DType::kF32, {kSizes[k + 1]}));
    }
    state_->ForEach([&](const StateInfo& info, const Tensor& value) {
      initial_.emplace_back(info.name, value.Clone());
    });
    for (int k = 0; k < kBatches; ++k) batches_.push_back(MakeBatch(batch, k));
    for (int k = 0; k < 6; ++k) Once(k);
  }

  Measurement Run() override {
    Reset();
    Once(0);
    int k = 0;
    return {Timed(steps_, [&] { Once(++k); }), {}};
  }

  std::vector<double> Check() override {
    Reset();
    std::vector<double> losses;
    for (int k = 0; k < 2 * kBatches; ++k) losses.push_back(Once(k));
    return losses;
  }

 private:
  void Reset() {
    for (const auto& [name, value] : initial_) state_->SetTensor(name, value);
    state_->SetStep(0);
  }
  float Once(int k) {
    const Batch& batch = batches_[k % kBatches];
    const FeedValue feeds[] = {FeedValue(batch.x), FeedValue(batch.label)};
    float loss = 0;
    FetchBuffer fetch{.data = &loss, .capacity = sizeof(loss)};
    if (!executable_->Run(*state_, feeds, {&fetch, 1}, options_).committed) {
      throw std::runtime_error("the step was not committed");
    }
    return loss;
  }

  const int steps_;
  Profile profile_;
  RunOptions options_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<State> state_;
  std::vector<std::pair<std::string, Tensor>> initial_;
  std::vector<Batch> batches_;
};

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
  const int threads = std::atoi(Option(argc, argv, "--threads", "1").c_str());
  const bool profiled = Flag(argc, argv, "--profile");
  const std::string gemm = Option(argc, argv, "--gemm", "");
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    const int64_t batch = std::atoi(name.c_str() + std::string("batch").size());
    if (gemm.empty()) return std::make_unique<Step>(batch, threads, profiled);
    return std::make_unique<Limit>(
        batch, gemm == "onednn" ? GemmLibrary::kOneDnn : GemmLibrary::kOpenBlas, threads);
  });
}

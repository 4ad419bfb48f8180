// The chain of op-overhead: softmax of 16 floats, 1,000 times, each on the result before it. With
// --kernel-alone the vector code of softmax is called directly, without a program;
// with --profile the chain is profiled: what that costs.

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "bench/worker.h"
#include "bench/workload.h"
#include "catamaran/base/cpu.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/profile.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"
#include "catamaran/ops/activation/along_axis.h"

namespace catamaran::bench {
namespace {

constexpr int kOps = 1000;
constexpr int kRepeats = 400;

class Chain final : public Case {
 public:
  Chain(int threads, bool profiled) {
    if (profiled) options_.profile = &profile_;
    std::string text = "program chain\nfn chain(x0: f32[16]) -> f32[16] {\n";
    for (int i = 0; i < kOps; ++i) text += fmt::format("  x{} = softmax(x{})\n", i + 1, i);
    text += fmt::format("  return x{}\n}}\n", kOps);
    const auto builders = StandardBuilders();
    const Program flat = Flatten(Parse(text, "chain.ctm", StandardOps(), *builders), *builders);
    executable_ = Compile(flat, "chain", {.threads = threads});
    state_ = State::Create(flat, 1);
    x_ = Tensor::FromVector<float>({16}, Uniform(1, 16));
    for (int i = 0; i < 20; ++i) Once();
  }

  Measurement Run() override {
    return {Timed(kRepeats, [&] { Once(); }) / kOps, {}};
  }
  std::vector<double> Check() override {
    Once();
    return {y_, y_ + 16};
  }

 private:
  void Once() {
    const FeedValue feed(x_);
    FetchBuffer fetch{.data = y_, .capacity = sizeof(y_)};
    executable_->Run(*state_, {&feed, 1}, {&fetch, 1}, options_);
  }

  Profile profile_;
  RunOptions options_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<State> state_;
  Tensor x_;
  alignas(64) float y_[16] = {};
};

class KernelAlone final : public Case {
 public:
  Measurement Run() override {
    SoftmaxKernels<float> kernels;
    SoftmaxKernels<double> unused;
    FindSoftmaxKernels(DetectIsa(), &kernels, &unused);
    const std::vector<float> start = Uniform(1, 16);
    alignas(64) float x[2][16];
    std::copy(start.begin(), start.end(), x[0]);
    const double seconds = Timed(kRepeats, [&] {
      for (int i = 0; i < kOps; ++i) kernels.softmax(x[i % 2], x[(i + 1) % 2], 16, 1, 0, 1);
    });
    return {seconds / kOps, {}};
  }
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const int threads = std::atoi(Option(argc, argv, "--threads", "1").c_str());
  const bool profiled = Flag(argc, argv, "--profile");
  const bool kernel_alone = Flag(argc, argv, "--kernel-alone");
  return Serve("", [&](const std::string&) -> std::unique_ptr<Case> {
    if (kernel_alone) return std::make_unique<KernelAlone>();
    return std::make_unique<Chain>(threads, profiled);
  });
}

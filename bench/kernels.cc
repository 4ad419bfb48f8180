// The cases of `kernels`: one op, or one op and its gradient, as a compiled program. The cases come
// as a file of JSON (--cases) written by bench/benchmarks/kernels.py: name, program, inputs.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/worker.h"
#include "bench/workload.h"
#include "catamaran/base/error.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"
#include "catamaran/tensor/cast.h"

namespace catamaran::bench {
namespace {

using Json = nlohmann::json;

constexpr double kSecondsARound = 0.012;

// Floats in [-1, 1), integers in [0, below): the numbers of peers/kernels_torch.py.
Tensor MakeInput(const Json& spec, uint32_t seed) {
  Shape shape;
  for (const int64_t dim : spec.at("shape")) shape.Append(dim);
  const auto count = static_cast<size_t>(shape.num_elements());
  const std::vector<float> values = Uniform(seed, count);
  const DType dtype = *ParseDType(spec.at("dtype").get<std::string>());
  Tensor tensor = Tensor::Allocate(dtype, shape);
  if (dtype == DType::kF32) {
    for (size_t i = 0; i < count; ++i) tensor.mutable_data<float>()[i] = 2 * values[i] - 1;
    return tensor;
  }
  const double below = spec.at("below");
  Tensor wide = Tensor::Allocate(DType::kI64, shape);
  for (size_t i = 0; i < count; ++i) {
    wide.mutable_data<int64_t>()[i] = static_cast<int64_t>(static_cast<double>(values[i]) * below);
  }
  return Cast(wide, dtype);
}

class KernelCase final : public Case {
 public:
  KernelCase(const Json& spec, int threads) : check_(spec.at("check")) {
    const auto builders = StandardBuilders();
    const Program flat = Flatten(
        Parse(spec.at("program").get<std::string>(), "kernels.ctm", StandardOps(), *builders),
        *builders);
    executable_ = Compile(flat, spec.at("function").get<std::string>(), {.threads = threads});
    state_ = State::Create(flat, 1);
    for (size_t i = 0; i < executable_->num_inputs(); ++i) {
      const auto& inputs = spec.at("inputs");
      for (size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k].at("name") != executable_->input_name(i)) continue;
        tensors_.push_back(MakeInput(inputs[k], static_cast<uint32_t>(k) + 1));
      }
      if (tensors_.size() != i + 1) Fail("the case has no input {}", executable_->input_name(i));
    }
    for (const Tensor& tensor : tensors_) feeds_.emplace_back(tensor);
    RunResult result = executable_->Run(*state_, feeds_);
    outputs_ = std::move(result.outputs);
    for (Tensor& output : outputs_) {
      FetchBuffer fetch;
      fetch.data = output.mutable_raw_data();
      fetch.capacity = output.num_bytes();
      fetches_.push_back(fetch);
    }
    Once();
    const double once = Timed(3, [&] { Once(); });
    repeats_ = std::max(1, static_cast<int>(kSecondsARound / std::max(once, 1e-9)));
  }

  Measurement Run() override {
    return {Timed(repeats_, [&] { Once(); }), {}};
  }

  // The mean of |y| of each result that is compared, and its first elements.
  std::vector<double> Check() override {
    Once();
    std::vector<double> values;
    for (const int index : check_) {
      const Tensor y = Cast(outputs_[static_cast<size_t>(index)], DType::kF64);
      double sum = 0;
      for (const double v : y.data<double>()) sum += std::fabs(v);
      values.push_back(sum / static_cast<double>(y.num_elements()));
      for (size_t i = 0; i < 4 && i < y.data<double>().size(); ++i) {
        values.push_back(y.data<double>()[i]);
      }
    }
    return values;
  }

 private:
  void Once() { executable_->Run(*state_, feeds_, fetches_); }

  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<State> state_;
  std::vector<Tensor> tensors_, outputs_;
  std::vector<FeedValue> feeds_;
  std::vector<FetchBuffer> fetches_;
  std::vector<int> check_;
  int repeats_ = 1;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const int threads = std::atoi(Option(argc, argv, "--threads", "1").c_str());
  std::ifstream file(Option(argc, argv, "--cases", "kernels.json"));
  const Json cases = Json::parse(file);
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    return std::make_unique<KernelCase>(cases.at(name), threads);
  });
}

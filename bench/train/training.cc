#include "bench/train/training.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "bench/workload.h"
#include "catamaran/exec/compile.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

namespace catamaran::bench {

Training::Training(TrainingSetup setup, int threads, bool profiled) : setup_(std::move(setup)) {
  if (profiled) options_.profile = &profile_;
  const auto builders = StandardBuilders();
  const Program flat =
      Flatten(Parse(setup_.program, "bench.ctm", StandardOps(), *builders), *builders);
  train_ = Compile(flat, "train", {.threads = threads});
  state_ = State::Create(flat, 1);
  for (const auto& [path, value] : setup_.weights) state_->SetTensor(path, value);
  state_->ForEach([&](const StateInfo& info, const Tensor& value) {
    initial_.emplace_back(info.name, value.Clone());
  });
  for (size_t k = 0; k < 6; ++k) Once(k);
}

Measurement Training::Run() {
  Reset();
  Once(0);
  size_t k = 0;
  return {Timed(setup_.steps, [&] { Once(++k); }), {}};
}

std::vector<double> Training::Check() {
  Reset();
  std::vector<double> losses;
  for (int k = 0; k < setup_.checked; ++k) losses.push_back(Once(static_cast<size_t>(k)));
  return losses;
}

void Training::Reset() {
  for (const auto& [path, value] : initial_) state_->SetTensor(path, value);
  state_->SetStep(0);
}

float Training::Once(size_t k) {
  const std::vector<Tensor>& batch = setup_.batches[k % setup_.batches.size()];
  const std::vector<FeedValue> feeds(batch.begin(), batch.end());
  float loss = 0;
  FetchBuffer fetch{.data = &loss, .capacity = sizeof(loss)};
  if (!train_->Run(*state_, feeds, {&fetch, 1}, options_).committed) {
    throw std::runtime_error("the step was not committed");
  }
  return loss;
}

int64_t BatchOf(const std::string& name) {
  return std::atoi(name.c_str() + std::string("batch").size());
}

int ServeTraining(int argc, char** argv, const std::function<TrainingSetup(int64_t batch)>& setup) {
  const int threads = std::atoi(Option(argc, argv, "--threads", "1").c_str());
  const bool profiled = Flag(argc, argv, "--profile");
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    return std::make_unique<Training>(setup(BatchOf(name)), threads, profiled);
  });
}

Tensor FirstWeight(uint32_t seed, const Shape& shape, int64_t fan_in) {
  std::vector<float> values = Uniform(seed, static_cast<size_t>(shape.num_elements()));
  const float scale = static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in)));
  for (float& v : values) v = (v * 2 - 1) * scale;
  return Tensor::FromVector<float>(shape, values);
}

std::vector<int64_t> Below(uint32_t seed, size_t count, int64_t bound) {
  std::vector<int64_t> values;
  for (const float u : Uniform(seed, count)) {
    values.push_back(static_cast<int64_t>(u * static_cast<float>(bound)));
  }
  return values;
}

}  // namespace catamaran::bench

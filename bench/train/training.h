// bench/train/training.h
//
// Our side of a benchmark that trains a program on a few batches that lie in memory: the program's
// text, its first weights, the batches.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/worker.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/profile.h"
#include "catamaran/exec/state.h"

namespace catamaran::bench {

struct TrainingSetup {
  std::string program;
  // Params by path; those that are not named keep what the program says.
  std::vector<std::pair<std::string, Tensor>> weights;
  std::vector<std::vector<Tensor>> batches;  // each the arguments of `train`, in order
  int steps = 1;                             // a round
  int checked = 8;                           // losses that all sides compare
};

// Runs `train` once a batch, from the same state in every round. REQUIRES: it returns one loss.
class Training final : public Case {
 public:
  // `profiled`: every step is, to see what that costs.
  Training(TrainingSetup setup, int threads, bool profiled = false);
  Measurement Run() override;
  std::vector<double> Check() override;

 private:
  void Reset();
  float Once(size_t k);

  const TrainingSetup setup_;
  Profile profile_;
  RunOptions options_;
  std::shared_ptr<const Executable> train_;
  std::unique_ptr<State> state_;
  std::vector<std::pair<std::string, Tensor>> initial_;
};

// The batch size that a case's name, "batch64", says.
int64_t BatchOf(const std::string& name);

// The main function of a benchmark that is nothing but such a training: options --threads and
// --profile, cases by batch size.
int ServeTraining(int argc, char** argv, const std::function<TrainingSetup(int64_t batch)>& setup);

// Uniform in ±sqrt(6 / fan_in), a function of the seed: `peer.weight` of bench/peers/peer.py.
Tensor FirstWeight(uint32_t seed, const Shape& shape, int64_t fan_in);

// `count` integers below `bound`: `peer.below`.
std::vector<int64_t> Below(uint32_t seed, size_t count, int64_t bound);

}  // namespace catamaran::bench

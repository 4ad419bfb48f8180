// bench/train/training.h
//
// Our side of a benchmark that trains a program on a few batches that lie in memory: the program's
// text, its first weights, the batches.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/worker.h"
#include "catamaran/exec/executable.h"
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
  Training(TrainingSetup setup, int threads);
  Measurement Run() override;
  std::vector<double> Check() override;

 private:
  void Reset();
  float Once(size_t k);

  const TrainingSetup setup_;
  std::shared_ptr<const Executable> train_;
  std::unique_ptr<State> state_;
  std::vector<std::pair<std::string, Tensor>> initial_;
};

// Uniform in ±sqrt(6 / fan_in), a function of the seed: `peer.weight` of bench/peers/peer.py.
Tensor FirstWeight(uint32_t seed, const Shape& shape, int64_t fan_in);

// `count` integers below `bound`: `peer.below`.
std::vector<int64_t> Below(uint32_t seed, size_t count, int64_t bound);

}  // namespace catamaran::bench

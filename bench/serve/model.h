// bench/serve/model.h
//
// The models that servers are measured with, their weights, and what they are asked. Weights are
// functions of their place, which bench/peers/serve_models.py computes too.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/serve/transport.h"

namespace catamaran::bench {

struct BenchModel {
  std::string name;     // "deepfm" or "user_heavy"
  std::string program;  // its file
  int64_t ids = 0;      // rows of its table
  int64_t width = 0;    // of them
  struct Layers {
    std::string path;
    uint32_t seed = 0;
    std::vector<int64_t> sizes;
  };
  std::vector<Layers> layers;
};

const BenchModel& FindModel(const std::string& name);

// Saves its state, with all rows.
void WriteState(const BenchModel& model, const std::string& directory);

// Requests for one row each.
std::vector<LoadRequest> SingleRows(const BenchModel& model, int count);
// One user and `items` items each.
std::vector<LoadRequest> RankRequests(const BenchModel& model, int64_t items, int count);

}  // namespace catamaran::bench

// cli/demo/comparison.h
//
// The model that learns while it serves, beside others that see the same views: one that stays as
// it was when the service began, one that is trained again every few minutes of the world's time
// with all that is known by then, and the truth itself. How well each ranks is the area under the
// ROC curve of its predictions, against who clicked in the end.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/program.h"
#include "cli/demo/simulator.h"
#include "cli/demo/traffic.h"

namespace catamaran::cli {

// Areas under the ROC curve; NaN where there were no rows.
struct Ranking {
  double learning = 0, frozen = 0, retrained = 0, optimum = 0;
};

class Comparison {
 public:
  // `flat` outlives it. Labels are known when there is a click, or when `window` seconds of the
  // world have gone by without one; a click after that is learned from as well.
  Comparison(const Program& flat, uint64_t seed, double window);

  // Trains the first model on views before the demo's first one, all of whose clicks are known.
  // Saves it in `directory`: there the service and the other models begin.
  void MakeFirstModel(FileSystem& fs, const Simulator& world, int64_t views,
                      const std::string& directory);

  // Rates the views, each model as it was when they were shown; then, at `time`, the model that is
  // retrained is.
  Ranking Add(const std::vector<AnsweredView>& views, double time);
  // Of all views so far.
  Ranking All() const { return RankingOf(0); }

  int64_t examples() const { return static_cast<int64_t>(labels_.size()); }

 private:
  struct Example {
    uint64_t user, group, topic, story;
    float label;
  };
  struct Open {
    Example example;
    double closes = 0, click_time = 0;
    bool clicked = false, closed = false;
  };

  Ranking RankingOf(size_t from) const;
  void Predict(State& state, const std::vector<Example>& rows, std::vector<float>& predictions);
  void Train(State& state, const std::vector<Example>& rows);

  const Program& flat_;
  const uint64_t seed_;
  const double window_;
  const std::shared_ptr<const Executable> train_, infer_;
  std::unique_ptr<State> frozen_, retrained_;
  std::vector<Open> open_;  // not yet learned from by the one that is retrained
  std::vector<float> labels_, learning_scores_, frozen_scores_, retrained_scores_, truth_;
};

}  // namespace catamaran::cli

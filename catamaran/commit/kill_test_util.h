// commit/kill_test_util.h
//
// A model that is trained by a process which dies again and again: what the process
// (kill_trainer_main.cc) and the test that kills it share.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/hash.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/transform/builders.h"

namespace catamaran::test {

// Rows are counted, admitted, updated and expired; the dense part has an optimizer with slots.
inline constexpr std::string_view kKilledProgram = R"(program killed
table @feat : u64 -> f32[4] = normal(std=0.1) {
  optimizer  = rowwise_adagrad(lr=0.05)
  admit      = count(2)
  unadmitted = shared
  expire     = unseen(seconds=10)
}
param @w : f32[4] = normal(std=0.5)
fn loss(ids: u64[B, 3], label: f32[B]) -> f32[] {
  observe(@feat, ids, show=1, click=label)
  e = lookup(@feat, ids, pool=sum)
  return sum(square(sum(e * @w, axes=[1]) - label))
}
train = adam(grad(loss), lr=0.01)
)";

inline constexpr uint64_t kKilledSeed = 11;

class KilledModel {
 public:
  KilledModel() {
    auto ops = std::make_shared<OpSet>();
    DefineAllOps(*ops);
    BuilderSet builders;
    AddTransforms(builders);
    flat_ = std::make_unique<Program>(
        Flatten(Parse(kKilledProgram, "killed.ctm", std::move(ops), builders), builders));
    train_ = Compile(*flat_, "train");
  }

  const Program& flat() const { return *flat_; }

  // The step after those that `state` has committed: a function of its number alone.
  void Step(State& state) const {
    constexpr int64_t kBatch = 16;
    const auto step = static_cast<uint64_t>(state.step()) + 1;
    std::vector<uint64_t> ids;
    std::vector<float> labels;
    for (uint64_t i = 0; i < kBatch * 3; ++i) {
      // A window that moves on, so that old keys are seen no more and expire.
      ids.push_back(step * 2 + Mix64(step << 16 | i) % 60);
    }
    for (uint64_t i = 0; i < kBatch; ++i) {
      labels.push_back(static_cast<float>(Mix64(step << 32 | i) & 1));
    }
    RunOptions options;
    options.event_time = static_cast<int64_t>(step) * kNanosecondsPerSecond;
    train_->Run(state,
                {{"ids", Tensor::FromVector<uint64_t>({kBatch, 3}, ids)},
                 {"label", Tensor::FromVector<float>({kBatch}, labels)}},
                options);
  }

 private:
  std::unique_ptr<Program> flat_;
  std::shared_ptr<const Executable> train_;
};

}  // namespace catamaran::test

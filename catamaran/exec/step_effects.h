// exec/step_effects.h
//
// What one step does to the tables of a State, as a list: the effects of a commit region add to it
// while they are prepared, and each table then gets its part as one step. Nothing is copied but the
// views; what they point at lives as long as the run.
//
// Thread safety: none; a commit region is prepared and applied on one thread.

#pragma once

#include <cstddef>
#include <vector>

#include "catamaran/ir/program.h"
#include "catamaran/table/table.h"

namespace catamaran {

struct TableEffects {
  const Op* op = nullptr;  // the first effect on the table, for errors; null: there is none
  std::vector<TableObservation> observations;
  std::vector<TablePush> pushes;
};

class StepEffects {
 public:
  explicit StepEffects(size_t num_states) : by_state_(num_states) {}

  // Forgets everything, and keeps the memory for the next step.
  void Clear() {
    for (TableEffects& effects : by_state_) {
      effects.op = nullptr;
      effects.observations.clear();
      effects.pushes.clear();
    }
  }
  void Observe(size_t state, const Op& op, const TableObservation& seen) {
    At(state, op).observations.push_back(seen);
  }
  void Push(size_t state, const Op& op, const TablePush& push) {
    At(state, op).pushes.push_back(push);
  }
  const TableEffects& of(size_t state) const { return by_state_[state]; }

 private:
  TableEffects& At(size_t state, const Op& op) {
    TableEffects& effects = by_state_[state];
    if (effects.op == nullptr) effects.op = &op;
    return effects;
  }

  std::vector<TableEffects> by_state_;
};

}  // namespace catamaran

// table/optimizers.h
//
// What is known of each update rule of table/update_rules.h, as a table of facts: its name, what
// it keeps beside a weight, and its hyperparameters with their defaults. The optimizer builders,
// the op `update` and tables read it, so that a rule has the same name and the same defaults
// everywhere.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "catamaran/table/update_rules.h"

namespace catamaran {

inline constexpr int kMaxSlots = 3;

struct SlotFact {
  std::string_view name;             // "m", "v"
  bool per_row = false;              // one number a row, not one a weight
  bool initial_accumulator = false;  // starts at that hyperparameter, not at 0
  bool centered_only = false;        // a last slot, there only when `centered` is set
};

struct HyperFact {
  std::string_view name;
  double default_value = 0;
  std::string_view doc;
  bool flag = false;  // 1 or 0; `true` or `false` in a program
};

struct OptimizerFact {
  rules::Rule rule;
  std::string_view name;
  std::string_view doc;
  std::span<const SlotFact> slots;    // all it can have; Optimizer::slots are those it has
  std::span<const HyperFact> hypers;  // besides lr
  double lr = 0.01;                   // the default
  bool needs_step = false;            // counts the updates of a weight
};

std::span<const OptimizerFact> Optimizers();
// Null when there is none of that name.
const OptimizerFact* FindOptimizer(std::string_view name);
const OptimizerFact& FactOf(rules::Rule rule);
// "sgd, momentum, …", for messages.
std::string OptimizerNames();

// An optimizer with all its numbers.
struct Optimizer {
  rules::Rule rule = rules::Rule::kSgd;
  double lr = 0.01;
  double initial_accumulator = 0;
  rules::Hyper hyper;

  const OptimizerFact& fact() const { return FactOf(rule); }
  // What is kept beside each weight with these hyperparameters.
  std::span<const SlotFact> slots() const;
  // What slot k is filled with at first.
  double SlotInitial(int k) const {
    return slots()[static_cast<size_t>(k)].initial_accumulator ? initial_accumulator : 0;
  }
};

// The optimizer of that name with the facts' defaults. An Error that lists the names when there
// is none.
Optimizer MakeOptimizer(std::string_view name);
Optimizer MakeOptimizer(std::string_view name, double lr);
// Sets `lr` or one of the rule's hyperparameters. An Error that lists them when it has no such,
// or when the value makes no sense (a negative rate, a beta outside [0, 1)).
void SetHyper(Optimizer& optimizer, std::string_view name, double value);

// What SetHyper of that name has set: `lr` or one of the rule's hyperparameters; a flag is 1 or 0.
double HyperOf(const Optimizer& optimizer, std::string_view name);

}  // namespace catamaran

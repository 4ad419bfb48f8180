#include "catamaran/table/optimizers.h"

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

using rules::Rule;

constexpr HyperFact kWeightDecay = {"weight_decay", 0, "shrinks each weight by lr times this"};
constexpr HyperFact kEpsilon = {"eps", 1e-8, "keeps the divisor from 0"};
constexpr HyperFact kStart = {"initial_accumulator", 0, "what the accumulator starts from"};

constexpr SlotFact kMomentumSlots[] = {{"v"}};
constexpr SlotFact kAdagradSlots[] = {{"a", false, true}};
constexpr SlotFact kRowwiseSlots[] = {{"a", true, true}};
constexpr SlotFact kAdamSlots[] = {{"m"}, {"v"}};
constexpr SlotFact kRmspropSlots[] = {{"v"}};

constexpr HyperFact kSgdHypers[] = {kWeightDecay};
constexpr HyperFact kMomentumHypers[] = {{"momentum", 0.9, "how much of the last step stays"},
                                         {"nesterov", 0, "look ahead: 1 or 0"},
                                         kWeightDecay};
constexpr HyperFact kAdagradHypers[] = {kEpsilon, kStart, kWeightDecay};
constexpr HyperFact kAdamHypers[] = {{"beta1", 0.9, "decay of the mean of gradients"},
                                     {"beta2", 0.999, "decay of the mean of their squares"},
                                     kEpsilon,
                                     kWeightDecay};
constexpr HyperFact kRmspropHypers[] = {
    {"rho", 0.9, "decay of the mean of squared gradients"}, kEpsilon, kWeightDecay};

constexpr OptimizerFact kOptimizers[] = {
    {Rule::kSgd, "sgd", "w -= lr * g", {}, kSgdHypers},
    {Rule::kMomentum, "momentum", "v = momentum * v + g; w -= lr * v", kMomentumSlots,
     kMomentumHypers},
    {Rule::kAdagrad, "adagrad", "a += g * g; w -= lr * g / (sqrt(a) + eps)", kAdagradSlots,
     kAdagradHypers},
    {Rule::kRowwiseAdagrad, "rowwise_adagrad",
     "a += mean(g * g) of the row; w -= lr * g / (sqrt(a) + eps)", kRowwiseSlots, kAdagradHypers},
    {Rule::kAdam, "adam", "w -= lr * m' / (sqrt(v') + eps), m' and v' corrected for their start",
     kAdamSlots, kAdamHypers, true},
    {Rule::kRmsprop, "rmsprop", "v = rho * v + (1 - rho) * g * g; w -= lr * g / (sqrt(v) + eps)",
     kRmspropSlots, kRmspropHypers},
};

// The member that a hyperparameter sets.
double* MemberOf(Optimizer& o, std::string_view name) {
  if (name == "momentum") return &o.hyper.momentum;
  if (name == "beta1") return &o.hyper.beta1;
  if (name == "beta2") return &o.hyper.beta2;
  if (name == "rho") return &o.hyper.rho;
  if (name == "eps") return &o.hyper.epsilon;
  if (name == "weight_decay") return &o.hyper.weight_decay;
  if (name == "initial_accumulator") return &o.initial_accumulator;
  return nullptr;
}

void Assign(Optimizer& o, std::string_view name, double value) {
  if (name == "nesterov") {
    o.hyper.nesterov = value != 0;
  } else {
    *MemberOf(o, name) = value;
  }
}

}  // namespace

std::span<const OptimizerFact> Optimizers() { return kOptimizers; }

const OptimizerFact* FindOptimizer(std::string_view name) {
  for (const OptimizerFact& fact : kOptimizers) {
    if (fact.name == name) return &fact;
  }
  return nullptr;
}

const OptimizerFact& FactOf(Rule rule) {
  for (const OptimizerFact& fact : kOptimizers) {
    if (fact.rule == rule) return fact;
  }
  CATAMARAN_CHECK(false, "rule {} has no facts", static_cast<int>(rule));
  return kOptimizers[0];
}

std::string OptimizerNames() {
  std::string names;
  for (const OptimizerFact& fact : kOptimizers) {
    if (!names.empty()) names += ", ";
    names += fact.name;
  }
  return names;
}

Optimizer MakeOptimizer(std::string_view name, double lr) {
  const OptimizerFact* fact = FindOptimizer(name);
  if (fact == nullptr) Fail("there is no optimizer {}; there are {}", name, OptimizerNames());
  Optimizer optimizer;
  optimizer.rule = fact->rule;
  for (const HyperFact& hyper : fact->hypers) Assign(optimizer, hyper.name, hyper.default_value);
  SetHyper(optimizer, "lr", lr);
  return optimizer;
}

void SetHyper(Optimizer& optimizer, std::string_view name, double value) {
  const OptimizerFact& fact = optimizer.fact();
  if (!(value >= 0)) Fail("{}: {} must not be negative, and is {}", fact.name, name, value);
  if (name == "lr") {
    optimizer.lr = value;
    return;
  }
  std::string known = "lr";
  for (const HyperFact& hyper : fact.hypers) {
    if (hyper.name == name) {
      const bool fraction = name == "beta1" || name == "beta2" || name == "rho";
      if (fraction && value >= 1) Fail("{}: {} must be below 1, and is {}", fact.name, name, value);
      return Assign(optimizer, name, value);
    }
    known += ", ";
    known += hyper.name;
  }
  Fail("{} has no hyperparameter {}; it has {}", fact.name, name, known);
}

}  // namespace catamaran

#include "catamaran/table/optimizers.h"

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

using rules::Rule;

constexpr HyperFact kWeightDecay = {"weight_decay", 0,
                                    "adds this times the weight to the gradient"};
constexpr HyperFact kL1 = {"l1", 0, "adds this times the weight's sign to the gradient"};
constexpr HyperFact kEpsilon = {"eps", 1e-8, "keeps the divisor from 0"};
constexpr HyperFact kStart = {"initial_accumulator", 0, "what the accumulator starts from"};
constexpr HyperFact kBeta1 = {"beta1", 0.9, "decay of the mean of gradients"};
constexpr HyperFact kBeta2 = {"beta2", 0.999, "decay of the mean of their squares"};

constexpr HyperFact DecoupledDecay(double value) {
  return {"weight_decay", value, "shrinks each weight by lr times this, apart from the gradient"};
}

constexpr SlotFact kMomentumSlots[] = {{"v"}};
constexpr SlotFact kAdagradSlots[] = {{"a", false, true}};
constexpr SlotFact kRowwiseSlots[] = {{"a", true, true}};
constexpr SlotFact kAdamSlots[] = {{"m"}, {"v"}};
constexpr SlotFact kAmsgradSlots[] = {{"m"}, {"v"}, {"top"}};
constexpr SlotFact kRmspropSlots[] = {{"v"}, {"m", false, false, true}};
constexpr SlotFact kAdadeltaSlots[] = {{"v"}, {"u"}};
constexpr SlotFact kFtrlSlots[] = {{"n", false, true}, {"z"}};
constexpr SlotFact kLionSlots[] = {{"m"}};

constexpr HyperFact kSgdHypers[] = {kWeightDecay, kL1};
constexpr HyperFact kMomentumHypers[] = {{"momentum", 0.9, "how much of the last step stays"},
                                         {"nesterov", 0, "look ahead", true},
                                         kWeightDecay,
                                         kL1};
constexpr HyperFact kAdagradHypers[] = {kEpsilon, kStart, kWeightDecay, kL1};
constexpr HyperFact kAdamHypers[] = {kBeta1, kBeta2, kEpsilon, kWeightDecay, kL1};
constexpr HyperFact kAdamWHypers[] = {kBeta1, kBeta2, kEpsilon, DecoupledDecay(0.01)};
constexpr HyperFact kRmspropHypers[] = {
    {"rho", 0.9, "decay of the mean of squared gradients"},
    kEpsilon,
    {"centered", 0, "divides by the deviation from the mean gradient", true},
    kWeightDecay,
    kL1};
constexpr HyperFact kAdadeltaHypers[] = {
    {"rho", 0.9, "decay of the means of squared gradients and moves"},
    {"eps", 1e-6, "what the first moves grow from"},
    kWeightDecay,
    kL1};
constexpr HyperFact kFtrlHypers[] = {
    {"l1", 0, "holds weights at 0 until their gradients ask for more than this"},
    {"l2", 0, "pulls weights to 0"},
    {"beta", 1, "slows the first steps"},
    {"initial_accumulator", 0, "what n starts from"}};
constexpr HyperFact kLionHypers[] = {{"beta1", 0.9, "how much of m is in the direction"},
                                     {"beta2", 0.99, "decay of m, the mean of gradients"},
                                     DecoupledDecay(0)};
constexpr HyperFact kLambHypers[] = {kBeta1,
                                     kBeta2,
                                     {"eps", 1e-6, "keeps the divisor from 0"},
                                     {"weight_decay", 0.01, "adds this times the weight to u"}};

constexpr OptimizerFact kOptimizers[] = {
    {Rule::kSgd, "sgd", "w -= lr * g", {}, kSgdHypers},
    {Rule::kMomentum, "momentum",
     "v = momentum * v + g; w -= lr * v, or with nesterov lr * (g + momentum * v)", kMomentumSlots,
     kMomentumHypers},
    {Rule::kAdagrad, "adagrad", "a += g * g; w -= lr * g / (sqrt(a) + eps)", kAdagradSlots,
     kAdagradHypers},
    {Rule::kRowwiseAdagrad, "rowwise_adagrad",
     "a += mean(g * g) of the row; w -= lr * g / (sqrt(a) + eps)", kRowwiseSlots, kAdagradHypers},
    {Rule::kAdam, "adam", "w -= lr * m' / (sqrt(v') + eps), m' and v' corrected for their start",
     kAdamSlots, kAdamHypers, 0.001, true},
    {Rule::kAdamW, "adamw", "as adam, with decoupled weight decay: w first shrinks by lr * decay",
     kAdamSlots, kAdamWHypers, 0.001, true},
    {Rule::kAmsgrad, "amsgrad", "as adam, with the largest v so far in place of v", kAmsgradSlots,
     kAdamHypers, 0.001, true},
    {Rule::kRmsprop, "rmsprop",
     "v = rho * v + (1 - rho) * g * g; w -= lr * g / (sqrt(v) + eps); centered: sqrt(v - m * m)",
     kRmspropSlots, kRmspropHypers},
    {Rule::kAdadelta, "adadelta",
     "d = g * sqrt(u + eps) / sqrt(v + eps); w -= lr * d; v and u are means of g * g and d * d",
     kAdadeltaSlots, kAdadeltaHypers, 1.0},
    {Rule::kFtrl, "ftrl",
     "n += g * g; z += g - (change of sqrt(n)) / lr * w; w = -(z - sign(z) * l1) / ((beta + "
     "sqrt(n)) / lr + l2), 0 while |z| <= l1",
     kFtrlSlots, kFtrlHypers, 0.1},
    {Rule::kLion, "lion",
     "w -= lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * w); m = beta2 * m + (1 - "
     "beta2) * g",
     kLionSlots, kLionHypers, 0.0001},
    {Rule::kLamb, "lamb",
     "u = m' / (sqrt(v') + eps) + weight_decay * w; w -= lr * |w| / |u| * u, norms over the "
     "parameter, or over each row of a sparse gradient or table",
     kAdamSlots, kLambHypers, 0.001, true},
};

// The member that a hyperparameter sets.
double* MemberOf(Optimizer& o, std::string_view name) {
  if (name == "momentum") return &o.hyper.momentum;
  if (name == "beta1") return &o.hyper.beta1;
  if (name == "beta2") return &o.hyper.beta2;
  if (name == "rho") return &o.hyper.rho;
  if (name == "eps") return &o.hyper.epsilon;
  if (name == "weight_decay") return &o.hyper.weight_decay;
  if (name == "l1") return &o.hyper.l1;
  if (name == "l2") return &o.hyper.l2;
  if (name == "beta") return &o.hyper.beta;
  if (name == "initial_accumulator") return &o.initial_accumulator;
  return nullptr;
}

void Assign(Optimizer& o, std::string_view name, double value) {
  if (name == "nesterov") {
    o.hyper.nesterov = value != 0;
  } else if (name == "centered") {
    o.hyper.centered = value != 0;
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

std::span<const SlotFact> Optimizer::slots() const {
  const std::span<const SlotFact> all = fact().slots;
  const bool less = !all.empty() && all.back().centered_only && !hyper.centered;
  return less ? all.first(all.size() - 1) : all;
}

std::string OptimizerNames() {
  std::string names;
  for (const OptimizerFact& fact : kOptimizers) {
    if (!names.empty()) names += ", ";
    names += fact.name;
  }
  return names;
}

Optimizer MakeOptimizer(std::string_view name) {
  const OptimizerFact* fact = FindOptimizer(name);
  if (fact == nullptr) Fail("there is no optimizer {}; there are {}", name, OptimizerNames());
  Optimizer optimizer;
  optimizer.rule = fact->rule;
  optimizer.lr = fact->lr;
  for (const HyperFact& hyper : fact->hypers) Assign(optimizer, hyper.name, hyper.default_value);
  return optimizer;
}

Optimizer MakeOptimizer(std::string_view name, double lr) {
  Optimizer optimizer = MakeOptimizer(name);
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

double HyperOf(const Optimizer& optimizer, std::string_view name) {
  if (name == "lr") return optimizer.lr;
  if (name == "nesterov") return optimizer.hyper.nesterov ? 1 : 0;
  if (name == "centered") return optimizer.hyper.centered ? 1 : 0;
  Optimizer copy = optimizer;
  const double* member = MemberOf(copy, name);
  CATAMARAN_CHECK(member != nullptr, "there is no hyperparameter {}", name);
  return *member;
}

}  // namespace catamaran

// ops/loss/binary_cross_entropy.cc
//
// binary_cross_entropy(p, target): minus the logarithm of the probability that p gives to the
// target; binary_cross_entropy_logits(x, target): the same of sigmoid(x).

#include <utility>

#include "catamaran/ops/op.h"

namespace catamaran {
namespace {

constexpr const char* kWeightDoc = "how much each element counts";
constexpr const char* kPosWeightDoc = "how much more positives count";

// p kept where both logarithms and the quotient of the gradient are finite in f32.
Expr Inside(Expr p) { return Min(Max(p, 1e-7), 1 - 1e-7); }

// softplus(-x) where `small` is log(1 + exp(-|x|)): what a positive loses.
Expr PositiveLoss(Expr x, Expr small) { return small + Max(-x, 0); }

bool IsOne(const GradContext& c, int i) {
  const Op* op = c.operand(i).value()->def();
  if (op == nullptr || !op->Is("constant")) return false;
  const Attr& value = op->attr("value");
  return (value.get<double>() || value.get<Dim>()) && value.AsDouble() == 1;
}

// Where both weights are 1, as they are when left out, the gradient is `plain`: a third of the ops.
void AddPlainGrad(ElementwiseBuilder& op, GradFn plain) {
  op.def().grad = [plain = std::move(plain), weighted = op.def().grad](GradContext& c) {
    (IsOne(c, 2) && IsOne(c, 3) ? plain : weighted)(c);
  };
}

void PlainGrad(GradContext& c) {
  Emitter& e = c.emit();
  const DType dtype = c.grad().type().dtype();
  const Var low = e.Constant(1e-7, dtype), high = e.Constant(1 - 1e-7, dtype);
  const Var p = c.operand(0), target = c.operand(1);
  const Var q = e.Emit("minimum", {e.Emit("maximum", {p, low}), high});
  const Var other = 1.0 - q;
  if (c.wanted(0)) c.SetGrad(0, c.SumTo(c.grad() * ((q - target) / (q * other)), p));
  if (c.wanted(1)) {
    const Var slope = e.Emit("log", {other}) - e.Emit("log", {q});
    c.SetGrad(1, c.SumTo(c.grad() * slope, target));
  }
}

void PlainLogitsGrad(GradContext& c) {
  const Var x = c.operand(0), target = c.operand(1);
  if (c.wanted(0)) {
    c.SetGrad(0, c.SumTo(c.grad() * (c.emit().Emit("sigmoid", {x}) - target), x));
  }
  if (c.wanted(1)) c.SetGrad(1, c.SumTo(-(c.grad() * x), target));
}

}  // namespace

void DefineBinaryCrossEntropy(OpSet& ops) {
  ElementwiseBuilder op =
      Elementwise(ops, "binary_cross_entropy", {"p", "target", "weight", "pos_weight"},
                  [](Expr p, Expr target, Expr weight, Expr pos_weight) {
                    const Expr q = Inside(p);
                    return -weight * (pos_weight * target * Log(q) + (1 - target) * Log(1 - q));
                  });
  op.Group("loss")
      .Label("target", {.low = 0, .high = 1})
      .Doc(
          "-(target log(p) + (1 - target) log(1 - p)), element by element. p is first brought "
          "into [1e-7, 1 - 1e-7]; the gradient is the one at that point, so that a certain and "
          "wrong prediction still learns.")
      .Default("weight", 1, kWeightDoc)
      .Default("pos_weight", 1, kPosWeightDoc)
      .Grad([](Expr p, Expr target, Expr weight, Expr pos_weight) {
        const Expr q = Inside(p);
        return std::vector<Expr>{weight * ((1 - target) / (1 - q) - pos_weight * target / q),
                                 weight * (Log(1 - q) - pos_weight * Log(q)),
                                 -(pos_weight * target * Log(q) + (1 - target) * Log(1 - q)),
                                 -weight * target * Log(q)};
      })
      .Sample(Floats({4}, {0.9, 0.2, 0.5, 0.6}), Floats({4}, {1, 1, 0, 0.5}))
      .Sample(Uniform({4, 3}, 0.1, 0.9), Uniform({4, 3}, 0, 1, 2))
      .Sample(Uniform({2500}, 0.1, 0.9), Uniform({2500}, 0, 1, 2))
      .Sample(Uniform({4, 3}, 0.1, 0.9), Uniform({3}, 0, 1, 2))
      .Sample(Uniform({4, 3}, 0.1, 0.9), Uniform({4, 3}, 0, 1, 2), Uniform({4, 1}, 0, 2, 3),
              Uniform({3}, 0, 5, 4))
      .Sample(Uniform({4}, 0.1, 0.9), Uniform({4}, 0, 1, 2), Tensor(), Floats({}, {3}))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({7}, {0, 1, 0, 1, 0.5, -3, NAN}), Floats({7}, {0, 0, 1, 1, 0.5, 1, 1}));
  AddPlainGrad(op, PlainGrad);
}

void DefineBinaryCrossEntropyLogits(OpSet& ops) {
  ElementwiseBuilder op =
      Elementwise(ops, "binary_cross_entropy_logits", {"x", "target", "weight", "pos_weight"},
                  [](Expr x, Expr target, Expr weight, Expr pos_weight) {
                    const Expr small = Log1p(Exp(-Abs(x)));
                    const Expr more = (pos_weight - 1) * target * PositiveLoss(x, small);
                    return weight * (Max(x, 0) - x * target + small + more);
                  });
  op.Group("loss")
      .Label("target", {.low = 0, .high = 1})
      .Doc(
          "binary_cross_entropy of sigmoid(x), element by element, without overflow and without "
          "loss of precision.")
      .Default("weight", 1, kWeightDoc)
      .Default("pos_weight", 1, kPosWeightDoc)
      .Grad([](Expr x, Expr target, Expr weight, Expr pos_weight) {
        const Expr small = Log1p(Exp(-Abs(x))), positive = PositiveLoss(x, small);
        const Expr more = (pos_weight - 1) * target * positive;
        return std::vector<Expr>{
            weight * (Sigmoid(x) - target - (pos_weight - 1) * target * Sigmoid(-x)),
            weight * ((pos_weight - 1) * positive - x), Max(x, 0) - x * target + small + more,
            weight * target * positive};
      })
      .Sample(Floats({4}, {-1, 0, 2, 3}), Floats({4}, {1, 0, 1, 0.5}))
      .Sample(Uniform({4, 3}, -5, 5), Uniform({4, 3}, 0, 1, 2))
      .Sample(Uniform({2500}, -5, 5), Uniform({2500}, 0, 1, 2))
      .Sample(Uniform({4, 3}, -5, 5), Uniform({4, 3}, 0, 1, 2), Uniform({4, 1}, 0, 2, 3),
              Uniform({3}, 0, 5, 4))
      .Sample(Uniform({4}, -5, 5), Uniform({4}, 0, 1, 2), Tensor(), Floats({}, {3}))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({5}, {-1000, 1000, 0, 88, NAN}), Floats({5}, {0, 0, 1, 1, 1}));
  AddPlainGrad(op, PlainLogitsGrad);
}

}  // namespace catamaran

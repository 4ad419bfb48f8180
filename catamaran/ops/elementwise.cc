#include "catamaran/ops/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "catamaran/base/error.h"
#include "catamaran/ir/grad_context.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ops/elementwise_kernel.h"
#include "catamaran/ops/samples.h"

namespace catamaran {

namespace elementwise_internal {

std::vector<std::string> DefaultInputNames(size_t count) {
  if (count == 1) return {"x"};
  if (count == 2) return {"a", "b"};
  Fail("an elementwise op of {} operands needs names for them", count);
}

}  // namespace elementwise_internal

namespace {

// The default of operand `i` in this dtype, as an op before this one. A literal, so that it prints
// as a number; an infinity among integers says its dtype, which cuts it to the largest or smallest.
Value* InsertDefault(InferContext& c, int i, DType dtype) {
  Op& op = c.op();
  const Attr& value = op.def().args[static_cast<size_t>(i)].default_value;
  // Before the literals of the operands after it: the order that the text has.
  Op* before = &op;
  for (int k = c.num_operands() - 1; k > i; --k) {
    if (c.IsLiteral(k) && op.operand(k)->def() == before->prev()) before = before->prev();
  }
  auto constant = std::make_unique<Op>(c.program().ops().Get("constant"), op.at);
  constant->SetAttr("value", value);
  if (const double number = value.AsDouble(); IsInteger(dtype)) {
    if (number == std::floor(number) && std::isfinite(number)) {
      constant->SetAttr("value", Attr(static_cast<int64_t>(number)));
    } else if (std::isinf(number)) {
      constant->SetAttr("dtype", dtype);
    }
  }
  Value* result = constant->AddResult();
  Op* inserted = op.parent()->Insert(std::move(constant), before);
  Diagnostics diagnostics;
  InferOp(c.program(), c.function(), *inserted, diagnostics);
  diagnostics.ThrowIfAny(c.program().sources());
  return result;
}

// Gives every operand that was left out its default, in the dtype of the others.
void FillDefaults(InferContext& c) {
  Op& op = c.op();
  const OpDef& def = op.def();
  const int count = def.scalar->num_inputs();
  bool missing = false;
  int decides = -1;
  for (int i = 0; i < count; ++i) {
    if (!c.has(i)) {
      missing = true;
    } else if (!def.scalar->is_condition(i) && c.type(i).is_tensor() &&
               (decides < 0 || (c.IsLiteral(decides) && !c.IsLiteral(i)))) {
      decides = i;
    }
  }
  if (!missing || decides < 0) return;
  const DType dtype = c.type(decides).dtype();
  std::vector<Value*> operands(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    operands[static_cast<size_t>(i)] = c.has(i) ? op.operand(i) : InsertDefault(c, i, dtype);
  }
  op.SetOperands(operands);
}

void InferElementwise(InferContext& c) {
  const ScalarFunction& f = *c.op().def().scalar;
  FillDefaults(c);
  // The value operand that decides the dtype: the first that is no literal, else the first.
  int decides = -1;
  for (int i = 0; i < f.num_inputs(); ++i) {
    if (!c.WantTensor(i)) return;
    if (f.is_condition(i)) {
      if (!c.WantDType(i, DType::kBool)) return;
    } else if (decides < 0 || (c.IsLiteral(decides) && !c.IsLiteral(i))) {
      decides = i;
    }
  }
  DType dtype = DType::kBool;
  if (decides >= 0) {
    dtype = c.type(decides).dtype();
    for (int i = 0; i < f.num_inputs(); ++i) {
      if (f.is_condition(i) || i == decides) continue;
      if (!c.WantSameDType(decides, i)) return;
    }
    if (!f.Supports(IsHalf(dtype) ? DType::kF32 : dtype)) {
      return (void)c.Fail(fmt::format("does not work on {}; cast first", Name(dtype)));
    }
  }
  Type type = c.type(0).WithDType(dtype);
  for (int i = 1; i < f.num_inputs(); ++i) {
    std::vector<Dim> dims;
    int ragged_axis = -1;
    if (!c.Broadcast(type, c.type(i), &dims, &ragged_axis)) return;
    type = Type::Tensor(dtype, std::move(dims), ragged_axis);
  }
  c.SetResult(type.WithDType(f.result_is_condition() ? DType::kBool : dtype));
}

// Writes the gradient as ordinary ops. Root 0 of `f` is the op's own formula, so that parts of the
// gradient equal to it use the op's result; root 1 + i is the gradient of operand i; the last
// input is the gradient that arrives.
class GradEmitter {
 public:
  GradEmitter(GradContext& context, const ScalarFunction& f)
      : context_(context), f_(f), done_(f.nodes().size()) {
    if (f.root() >= 0) done_[f.root()] = context.result();
  }

  void Run() {
    for (int i = 0; i < context_.num_operands(); ++i) {
      if (!context_.wanted(i) || f_.root(1 + i) < 0) continue;
      context_.SetGrad(i, context_.SumTo(Value(f_.root(1 + i)), context_.operand(i)));
    }
  }

 private:
  Var Value(int index) {
    if (done_[index]) return done_[index];
    const ScalarNode& node = f_.nodes()[index];
    Var result;
    if (node.kind == ScalarKind::kInput) {
      result =
          node.input == context_.num_operands() ? context_.grad() : context_.operand(node.input);
    } else if (node.kind == ScalarKind::kConstant) {
      result = context_.emit().Constant(node.value, context_.grad().type().dtype());
    } else {
      std::vector<Var> args;
      for (int k = 0; k < InfoOf(node.kind).arguments; ++k) args.push_back(Value(node.args[k]));
      result = context_.emit().Emit(InfoOf(node.kind).op, args);
    }
    return done_[index] = result;
  }

  GradContext& context_;
  const ScalarFunction& f_;
  std::vector<Var> done_;
};

}  // namespace

ElementwiseBuilder::ElementwiseBuilder(OpSet& ops, std::string name,
                                       std::vector<std::string> inputs,
                                       std::vector<bool> conditions, ExprNodePtr root)
    : builder_(ops.Define(std::move(name))), conditions_(std::move(conditions)), root_(root) {
  CATAMARAN_CHECK(inputs.size() == conditions_.size(), "{}: {} names for {} operands", def().name,
                  inputs.size(), conditions_.size());
  for (const std::string& input : inputs) builder_.In(input);
  auto scalar = std::make_shared<ScalarFunction>(conditions_, std::span(&root_, 1));
  builder_.Formula(scalar->ToString(inputs)).Infer(InferElementwise);
  def().traits.elementwise = true;
  def().scalar = scalar;
  builder_.Reference("elementwise", RunElementwiseReference).Fast(ElementwiseVectorKernel());
  builder_.Cost([scalar](const KernelQuery& query) {
    OpCost cost;
    int primitives = 0;
    for (const ScalarNode& node : scalar->nodes()) primitives += InfoOf(node.kind).arguments > 0;
    cost.operations = static_cast<double>(primitives) * static_cast<double>(query.out[0]->size());
    for (const Slot* slot : query.in) cost.bytes += static_cast<double>(slot->tensor.num_bytes());
    cost.bytes += static_cast<double>(query.out[0]->tensor.num_bytes());
    return cost;
  });
  const int count = static_cast<int>(conditions_.size());
  if (root_->condition) {
    builder_.StopsGrad();
    return;
  }
  const std::vector<Expr> adjoints = Adjoint(Expr(root_), count, Expr::Input(count));
  bool any = false;
  for (const Expr& adjoint : adjoints) any |= static_cast<bool>(adjoint);
  if (!any) {
    builder_.StopsGrad();
    return;
  }
  SetAdjoints(adjoints);
}

ElementwiseBuilder& ElementwiseBuilder::SetGrad(const std::vector<Expr>& derivatives) {
  CATAMARAN_CHECK(derivatives.size() == conditions_.size(), "{}: {} derivatives for {} operands",
                  def().name, derivatives.size(), conditions_.size());
  const Expr arriving = Expr::Input(static_cast<int>(conditions_.size()));
  std::vector<Expr> adjoints;
  for (const Expr& d : derivatives) adjoints.push_back(d ? arriving * d : Expr());
  SetAdjoints(adjoints);
  return *this;
}

void ElementwiseBuilder::SetAdjoints(const std::vector<Expr>& adjoints) {
  std::vector<ExprNodePtr> roots = {root_};
  for (const Expr& adjoint : adjoints) roots.push_back(adjoint.node());
  std::vector<bool> conditions = conditions_;
  conditions.push_back(false);
  auto f = std::make_shared<ScalarFunction>(std::move(conditions), roots);
  builder_.Grad([f](GradContext& context) { GradEmitter(context, *f).Run(); });
}

ElementwiseBuilder& ElementwiseBuilder::Default(std::string_view operand, double value,
                                                std::string doc) {
  std::vector<ArgSpec>& args = def().args;
  const auto arg = std::find_if(args.begin(), args.end(),
                                [&](const ArgSpec& spec) { return spec.name == operand; });
  CATAMARAN_CHECK(arg != args.end() && !conditions_[static_cast<size_t>(arg - args.begin())],
                  "{}: no number {} to give a default", def().name, operand);
  arg->kind = ArgKind::kOptional;
  arg->optional = true;
  arg->default_value = value;
  arg->doc = std::move(doc);
  return *this;
}

ElementwiseBuilder& ElementwiseBuilder::Label(std::string_view operand, LabelRange range) {
  builder_.Label(operand, range);
  return *this;
}

ElementwiseBuilder& ElementwiseBuilder::Doc(std::string text) {
  builder_.Doc(std::move(text));
  return *this;
}
ElementwiseBuilder& ElementwiseBuilder::Group(std::string text) {
  builder_.Group(std::move(text));
  return *this;
}
ElementwiseBuilder& ElementwiseBuilder::FloatSamples(double low, double high) {
  Sample(Uniform({4, 3}, low, high));
  Sample(Uniform({}, low, high));
  Sample(Uniform({2500}, low, high));
  Sample(Empty({0, 3}));
  KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
  return AddSample(
      {.inputs = {Uniform({6, 3}, low, high)}, .ragged_lengths = {{2, 0, 3, 1}}, .note = "ragged"});
}
ElementwiseBuilder& ElementwiseBuilder::FloatPairSamples(double low, double high) {
  const auto at = [&](const Shape& shape, uint64_t seed) {
    return Uniform(shape, low, high, seed);
  };
  Sample(at({4, 3}, 1), at({4, 3}, 2));
  Sample(at({4, 3}, 1), at({3}, 2));
  Sample(at({2, 3, 1}, 1), at({4}, 2));
  Sample(at({4, 1}, 1), at({4, 3}, 2));
  Sample(at({}, 1), at({}, 2));
  Sample(at({1037}, 1), at({1037}, 2));
  Sample(Empty({0, 3}), at({3}, 2));
  return KinkSample(Floats({9}, {0, -0.0, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, 1e30}),
                    Floats({9}, {0, 0, -0.0, INFINITY, -INFINITY, 2, 1, NAN, 1e30}));
}
ElementwiseBuilder& ElementwiseBuilder::PairSamples() {
  Sample(Uniform({4, 3}, -2, 2), Uniform({4, 3}, -2, 2, 2));
  Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2));
  Sample(Uniform({2, 3, 1}, -2, 2), Uniform({4}, -2, 2, 2));
  Sample(Uniform({4, 1}, -2, 2), Uniform({4, 3}, -2, 2, 2));
  Sample(Uniform({}, -2, 2), Uniform({5}, -2, 2, 2));
  Sample(Uniform({2, 1, 5}, -2, 2), Uniform({3, 1}, -2, 2, 2));
  Sample(Empty({0, 3}), Uniform({3}, 1, 2));
  Sample(RandomInts({7}, -50, 50, DType::kI32), RandomInts({7}, -5, 6, DType::kI32, 2));
  Sample(RandomInts({2, 5}, -50, 50), RandomInts({5}, -5, 6, DType::kI64, 2));
  Sample(RandomInts({40}, -128, 128, DType::kI8), RandomInts({40}, -128, 128, DType::kI8, 2));
  Sample(RandomInts({40}, 0, 256, DType::kU8), RandomInts({40}, 0, 256, DType::kU8, 2));
  Sample(RandomInts({9}, 0, 99, DType::kU64), RandomInts({9}, 0, 9, DType::kU64, 2));
  return *this;
}

ElementwiseBuilder& ElementwiseBuilder::AddSample(catamaran::Sample sample) {
  builder_.AddSample(std::move(sample));
  return *this;
}

}  // namespace catamaran

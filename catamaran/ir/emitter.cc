#include "catamaran/ir/emitter.h"

#include "catamaran/base/error.h"
#include "catamaran/ir/grad_context.h"
#include "catamaran/ir/infer.h"

namespace catamaran {

Var Var::Named(std::string name) const {
  value_->name = std::move(name);
  return *this;
}

Emitter::Emitter(Program& program, Function& function, Block& block, Op* before)
    : program_(&program), function_(&function), block_(&block), before_(before) {}

Location Emitter::ResolveLocation(const std::source_location& where) const {
  return fixed_.known() ? fixed_ : program_->sources().FromCpp(where);
}

Op* Emitter::EmitOp(const OpDef& def, Arguments arguments, Location at) {
  auto op = std::make_unique<Op>(def, at);
  // Optional operands left out at the end are not there at all, as in the text.
  while (!arguments.operands.empty() && !arguments.operands.back()) arguments.operands.pop_back();
  op->SetOperands(arguments.operands);
  op->attrs = std::move(arguments.attrs);
  op->states = std::move(arguments.states);
  op->callee = std::move(arguments.callee);
  const int results = def.num_results >= 0 ? def.num_results : arguments.num_results;
  for (int i = 0; i < results; ++i) op->AddResult();
  Op* inserted = block_->Insert(std::move(op), before_);
  // Control flow is inferred by whoever fills its blocks.
  if (function_->typed && (def.infer || def.name == "call")) {
    Diagnostics diagnostics;
    InferOp(*program_, *function_, *inserted, diagnostics);
    diagnostics.ThrowIfAny(program_->sources());
  }
  return inserted;
}

namespace {

std::vector<Value*> Values(std::span<const Var> vars) {
  std::vector<Value*> out;
  out.reserve(vars.size());
  for (const Var& v : vars) out.push_back(v.value());
  return out;
}

}  // namespace

Var Emitter::Emit(std::string_view op, std::initializer_list<Var> operands,
                  std::vector<NamedAttr> attrs, std::source_location where) {
  return Emit(op, std::span<const Var>(operands.begin(), operands.size()), std::move(attrs), where);
}

Var Emitter::Emit(std::string_view op, std::span<const Var> operands, std::vector<NamedAttr> attrs,
                  std::source_location where) {
  Op* emitted = EmitOp(ops().Get(op), {Values(operands), std::move(attrs), {}, {}, 1},
                       ResolveLocation(where));
  return emitted->num_results() > 0 ? Wrap(emitted->result()) : Var();
}

std::vector<Var> Emitter::EmitMany(std::string_view op, std::span<const Var> operands,
                                   int num_results, std::vector<NamedAttr> attrs,
                                   std::source_location where) {
  Op* emitted = EmitOp(ops().Get(op), {Values(operands), std::move(attrs), {}, {}, num_results},
                       ResolveLocation(where));
  std::vector<Var> out;
  for (int i = 0; i < emitted->num_results(); ++i) out.push_back(Wrap(emitted->result(i)));
  return out;
}

Var Emitter::EmitWithStates(std::string_view op, std::vector<std::string> states,
                            std::span<const Var> operands, std::vector<NamedAttr> attrs,
                            std::source_location where) {
  Op* emitted =
      EmitOp(ops().Get(op), {Values(operands), std::move(attrs), std::move(states), {}, 1},
             ResolveLocation(where));
  return emitted->num_results() > 0 ? Wrap(emitted->result()) : Var();
}

Var Emitter::Constant(Attr value, std::source_location where) {
  return Emit("constant", {}, {{"value", std::move(value)}}, where);
}

Var Emitter::Constant(Attr value, DType dtype, std::source_location where) {
  return Emit("constant", {}, {{"value", std::move(value)}, {"dtype", dtype}}, where);
}

Var Emitter::Read(std::string_view state, std::source_location where) {
  return EmitWithStates("read", {std::string(state)}, {}, {}, where);
}

Var Emitter::DimValue(const Dim& dim, std::source_location where) {
  return Emit("dim", {}, {{"value", dim}}, where);
}

std::vector<Var> Emitter::Call(std::string_view function, std::span<const Var> operands,
                               int num_results, std::vector<NamedAttr> statics,
                               std::source_location where) {
  Op* op = EmitOp(ops().Get("call"),
                  {Values(operands), std::move(statics), {}, std::string(function), num_results},
                  ResolveLocation(where));
  std::vector<Var> out;
  for (int i = 0; i < op->num_results(); ++i) out.push_back(Wrap(op->result(i)));
  return out;
}

Emitter* OperandArg::emitter() const {
  if (var) return var.emitter();
  if (!state) return nullptr;
  if (!state->current()) Fail("the state @{} is used outside a function", state->path());
  return state->current();
}

Var OperandArg::In(Emitter& emitter) const {
  if (var) return var;
  if (state) return emitter.Read(state->path(), where);
  // A static int is a dimension, and the value of a dimension is an op of its own.
  if (const Dim* dim = literal.get<Dim>(); dim && !dim->is_constant()) {
    return emitter.DimValue(*dim, where);
  }
  return emitter.Constant(literal, where);
}

Block& Emitter::CommitRegion() {
  if (Block* region = function_->commit_region()) return *region;
  auto op = std::make_unique<Op>(ops().Get("commit"), function_->at);
  op->AddBlock();
  Block& body = function_->body();
  Op* inserted = body.Insert(std::move(op), body.terminator());
  // What is emitted into the body from now on must come before the region.
  if (block_ == &body && before_ == nullptr) before_ = inserted;
  return *inserted->blocks[0];
}

namespace {

Emitter& EmitterOf(const OperandArg& a, const OperandArg& b) {
  Emitter* emitter = a.var ? a.var.emitter() : b.var ? b.var.emitter() : a.emitter();
  if (!emitter) emitter = b.emitter();
  if (!emitter) Fail("neither side of an operator is a value of a function");
  return *emitter;
}

Var Binary(std::string_view op, const OperandArg& a, const OperandArg& b) {
  Emitter& emitter = EmitterOf(a, b);
  const Var x = a.In(emitter), y = b.In(emitter);
  return emitter.Emit(op, {x, y}, {}, a.where);
}

}  // namespace

Var operator+(OperandArg a, OperandArg b) { return Binary("add", a, b); }
Var operator-(OperandArg a, OperandArg b) { return Binary("sub", a, b); }
Var operator*(OperandArg a, OperandArg b) { return Binary("mul", a, b); }
Var operator/(OperandArg a, OperandArg b) { return Binary("div", a, b); }
Var operator<(OperandArg a, OperandArg b) { return Binary("less", a, b); }
Var operator<=(OperandArg a, OperandArg b) { return Binary("less_equal", a, b); }
Var operator>(OperandArg a, OperandArg b) { return Binary("greater", a, b); }
Var operator>=(OperandArg a, OperandArg b) { return Binary("greater_equal", a, b); }
Var operator-(OperandArg a) {
  Emitter& emitter = EmitterOf(a, a);
  return emitter.Emit("neg", {a.In(emitter)}, {}, a.where);
}

Var GradContext::SumTo(Var x, Var like) const {
  if (x.type() && x.type() == like.type()) return x;
  return emit_->Emit("sum_to", {x, like});
}

}  // namespace catamaran

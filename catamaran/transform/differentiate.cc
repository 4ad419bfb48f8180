#include "catamaran/transform/differentiate.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/infer.h"

namespace catamaran {

Differentiator::Differentiator(Program& program, Function& function,
                               std::set<std::string> wrt_states, std::vector<Value*> wrt_args,
                               uint32_t frame)
    : program_(program),
      function_(function),
      emit_(program, function, function.body()),
      wrt_states_(std::move(wrt_states)),
      wrt_args_(std::move(wrt_args)),
      frame_(frame),
      gradient_(program.sources(), frame) {}

bool Differentiator::Differentiable(const Type& type) {
  return (type.is_tensor() || type.is_rows()) && IsFloat(type.dtype());
}

void Differentiator::FailAt(const Op& op, std::string message) const {
  Diagnostic d{
      op.at, static_cast<uint32_t>(op.name().size()), op.name() + ": " + std::move(message), {}};
  AddOperandNotes(op, program_, d);
  const SourceFrame f = program_.sources().frame(frame_);
  if (f.at.known()) d.notes.push_back({"", f.what + ", " + program_.sources().ToString(f.at)});
  throw ProgramError({std::move(d)}, program_.sources());
}

void Differentiator::Run() {
  HoistReads();
  FixLiterals();
  FixKeys();
  Op* end = function_.body().terminator();
  if (function_.commit_region()) end = end->prev();
  for (Value* a : wrt_args_) active_.insert(a);
  const std::vector<Op*> ops = PrepareForward(function_.body(), end);
  emit_.SetInsertionPoint(function_.body(), end);
  emit_.SetLocation(Behind(function_.at));
  // Only now: preparing may have replaced the loop that yields it.
  Value* scalar = function_.body().terminator()->operand(0);
  if (IsActive(scalar)) {
    Var one = emit_.Constant(1.0, scalar->type.dtype());
    adjoints_[scalar] = one;
    Reverse(ops, false);
  }
  emit_.SetInsertionPoint(function_.body(), end);
  emit_.SetLocation(Behind(function_.at));
}

// A literal takes the dtype of the one op that uses it; gradients use it again, so from here on it
// says its dtype itself.
void Differentiator::FixLiterals() {
  ForEachOp(function_.body(), [](Op& op) {
    if (!op.Is("constant") || !op.attr("dtype").empty()) return;
    const Attr& value = op.attr("value");
    const DType alone = value.get<bool>()     ? DType::kBool
                        : value.get<double>() ? DType::kF32
                                              : DType::kI64;
    const DType dtype = op.result()->type.dtype();
    if (dtype != alone) op.SetAttr("dtype", dtype);
  });
}

// Within a run a state's value does not change before the commit region, so one read at the
// top serves all, and loops and branches capture it like any other value.
void Differentiator::HoistReads() {
  std::vector<Op*> reads;
  ForEachOp(function_.body(), [&](Op& op) {
    if (op.Is("read")) reads.push_back(&op);
  });
  Block& body = function_.body();
  for (Op* op : reads) {
    auto [it, first] = reads_.try_emplace(op->states[0], op->result());
    if (first) continue;
    op->result()->ReplaceAllUsesWith(it->second);
    op->parent()->Erase(op);
  }
  for (auto it = reads_.rbegin(); it != reads_.rend(); ++it) {
    Op* op = it->second->def();
    std::unique_ptr<Op> owned = op->parent()->Remove(op);
    body.Insert(std::move(owned), body.first());
  }
  for (const auto& [path, value] : reads_) {
    if (wrt_states_.contains(path)) active_.insert(value);
  }
}

bool Differentiator::MarkActive(Op& op) {
  bool active = false;
  for (int i = 0; i < op.num_operands(); ++i) active |= IsActive(op.operand(i));
  if (op.def().traits.reads_state && !op.Is("read")) {
    for (const std::string& s : op.states) active |= wrt_states_.contains(s);
  }
  if (op.blocks.empty()) {
    if (op.def().stops_grad) active = false;
  } else if (!op.Is("commit")) {
    // A loop's arguments are active when what they start from or what is yielded to them is.
    const int skip = op.Is("for") ? 2 : 0;
    const int first = op.Is("for") ? 1 : 0;
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto& block : op.blocks) {
        for (int i = first; i < block->num_args(); ++i) {
          bool from = IsActive(op.operand(skip + i - first));
          Op* end = op.blocks.back()->terminator();
          if (!op.Is("if") && end) from |= IsActive(end->operand(i - first));
          if (from && Differentiable(block->arg(i)->type) && active_.insert(block->arg(i)).second) {
            changed = true;
          }
        }
        for (Op* inner = block->first(); inner; inner = inner->next()) {
          const size_t before = active_.size();
          active |= MarkActive(*inner);
          changed |= active_.size() != before;
        }
      }
    }
  }
  if (!active) return false;
  // What a block yields may come from outside, with nothing computed in between.
  if (op.def().traits.terminator) return true;
  bool any = false;
  for (int i = 0; i < op.num_results(); ++i) {
    if (!Differentiable(op.result(i)->type)) continue;
    active_.insert(op.result(i));
    any = true;
  }
  return any;
}

std::vector<Op*> Differentiator::PrepareForward(Block& block, Op* end) {
  std::vector<Op*> ops;
  for (Op* op = block.first(); op && op != end;) {
    Op* next = op->next();
    const bool active = MarkActive(*op);
    if (active && (op->Is("for") || op->Is("while"))) op = KeepCarried(*op);
    if (active) ops.push_back(op);
    op = next;
  }
  return ops;
}

Var Differentiator::Adjoint(const Value* v) const {
  auto it = adjoints_.find(v);
  return it == adjoints_.end() ? Var() : it->second;
}

Var Differentiator::DenseAdjoint(Value* v) {
  const Var grad = Adjoint(v);
  if (!grad || !grad.type().is_rows()) return grad;
  return emit_.Emit("rows_to_dense", {grad, emit_.Wrap(v)});
}

Value* Differentiator::StateValue(const std::string& path) const {
  auto it = reads_.find(path);
  return it == reads_.end() ? nullptr : it->second;
}

Var Differentiator::StateGrad(const std::string& path) const {
  if (auto it = table_grads_.find(path); it != table_grads_.end()) return it->second;
  Value* v = StateValue(path);
  return v ? Adjoint(v) : Var();
}

Var Differentiator::ZerosLike(Value* value) {
  return emit_.Emit("zeros_like", {emit_.Wrap(value)});
}

// `earlier` comes from an op that stands before the one of `later`: rows keep program order.
Var Differentiator::Sum(Var earlier, Var later, Value* like) {
  const bool rows_a = earlier.type().is_rows(), rows_b = later.type().is_rows();
  if (rows_a && rows_b) return emit_.Emit("rows_concat", {earlier, later});
  if (rows_a) earlier = emit_.Emit("rows_to_dense", {earlier, emit_.Wrap(like)});
  if (rows_b) later = emit_.Emit("rows_to_dense", {later, emit_.Wrap(like)});
  return later + earlier;
}

void Differentiator::Accumulate(Value* v, Var grad, const Op& from) {
  if (!grad || !IsActive(v)) return;
  if (grad.type() && !grad.type().is_rows() && !(grad.type() == v->type)) {
    // Equal up to what only a run can tell; a real difference is a mistake in the op's rule.
    const bool same_shape = grad.type().is_tensor() && grad.type().rank() == v->type.rank() &&
                            grad.type().dtype() == v->type.dtype();
    if (!same_shape) {
      FailAt(from, fmt::format("its gradient rule gives {} for an operand of type {}",
                               grad.type().ToString(), v->type.ToString()));
    }
  }
  Var& slot = adjoints_[v];
  slot = slot ? Sum(grad, slot, v) : grad;
}

void Differentiator::Reverse(const std::vector<Op*>& ops, bool nested) {
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    Op& op = **it;
    bool reached = false;
    for (int i = 0; i < op.num_results(); ++i) reached |= static_cast<bool>(Adjoint(op.result(i)));
    if (!reached) continue;
    emit_.SetLocation(Behind(op.at));
    if (op.Is("if")) {
      ReverseIf(op);
    } else if (op.Is("for") || op.Is("while")) {
      ReverseLoop(op);
    } else {
      ReverseOp(op, nested);
    }
  }
}

void Differentiator::ReverseOp(Op& op, bool nested) {
  if (op.Is("read") || op.def().stops_grad) return;
  std::vector<Var> result_grads;
  for (int i = 0; i < op.num_results(); ++i) result_grads.push_back(DenseAdjoint(op.result(i)));
  std::vector<bool> wanted;
  for (int i = 0; i < op.num_operands(); ++i) wanted.push_back(IsActive(op.operand(i)));
  if (!op.def().grad) {
    FailAt(op,
           op.def().no_grad.empty() ? "has no gradient" : "has no gradient: " + op.def().no_grad);
  }
  GradContext context(emit_, op, std::move(result_grads), std::move(wanted));
  op.def().grad(context);
  for (int i = 0; i < op.num_operands(); ++i) {
    if (op.operand(i)) Accumulate(op.operand(i), context.grads()[i], op);
  }
  for (size_t i = 0; i < op.states.size(); ++i) {
    Var grad = context.state_grads()[i];
    if (!grad || !wrt_states_.contains(op.states[i])) continue;
    if (nested) {
      FailAt(op, "a look-up inside a loop or branch has no gradient; look the rows up before it");
    }
    Var& slot = table_grads_[op.states[i]];
    slot = slot ? emit_.Emit("rows_concat", {grad, slot}) : grad;
  }
}

}  // namespace catamaran

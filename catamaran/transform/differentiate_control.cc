// The gradients of branches and loops.

#include <fmt/format.h>

#include "catamaran/ir/infer.h"
#include "catamaran/transform/differentiate.h"

namespace catamaran {

std::vector<Value*> Differentiator::ActiveCaptures(Op& op) const {
  std::unordered_set<const Value*> inside;
  for (const auto& block : op.blocks) {
    for (int i = 0; i < block->num_args(); ++i) inside.insert(block->arg(i));
    ForEachOp(*block, [&](Op& inner) {
      for (int i = 0; i < inner.num_results(); ++i) inside.insert(inner.result(i));
      for (const auto& b : inner.blocks) {
        for (int i = 0; i < b->num_args(); ++i) inside.insert(b->arg(i));
      }
    });
  }
  std::vector<Value*> captures;
  std::unordered_set<const Value*> seen;
  for (const auto& block : op.blocks) {
    ForEachOp(*block, [&](Op& inner) {
      for (int i = 0; i < inner.num_operands(); ++i) {
        Value* v = inner.operand(i);
        if (IsActive(v) && !inside.contains(v) && seen.insert(v).second) captures.push_back(v);
      }
    });
  }
  return captures;
}

Value* Differentiator::RoundIndex(Op& loop, size_t block) {
  if (loop.Is("for")) return loop.blocks[0]->arg(0);
  const Type round = Type::Scalar(DType::kI64);
  if (counted_.insert(&loop).second) {
    Emitter before(program_, function_, *loop.parent(), &loop);
    before.SetLocation(Behind(loop.at));
    std::vector<Value*> starts;
    for (int i = 0; i < loop.num_operands(); ++i) starts.push_back(loop.operand(i));
    starts.push_back(before.Constant(0, DType::kI64).value());
    loop.SetOperands(starts);
    loop.AddResult("", round);
    for (const auto& b : loop.blocks) b->AddArg("", round);
    Block& body = *loop.blocks[1];
    Op* end = body.terminator();
    Emitter inside(program_, function_, body, end);
    inside.SetLocation(Behind(loop.at));
    std::vector<Value*> yields;
    for (int i = 0; i < end->num_operands(); ++i) yields.push_back(end->operand(i));
    const Var one = inside.Constant(1, DType::kI64);
    yields.push_back((inside.Wrap(body.arg(body.num_args() - 1)) + one).value());
    end->SetOperands(yields);
  }
  Block& b = *loop.blocks[block];
  return b.arg(b.num_args() - 1);
}

void Differentiator::FixKeys() {
  std::vector<Op*> keys;
  ForEachOp(function_.body(), [&](Op& op) {
    if (op.Is("key") && op.num_operands() == 0) keys.push_back(&op);
  });
  for (Op* key : keys) {
    std::vector<Value*> indices;  // innermost first
    for (Block* block = key->parent(); Op* op = block->parent_op(); block = op->parent()) {
      if (!op->Is("for") && !op->Is("while")) continue;
      const size_t number = op->blocks[0].get() == block ? 0 : 1;
      indices.push_back(RoundIndex(*op, number));
    }
    key->SetOperands(std::vector<Value*>(indices.rbegin(), indices.rend()));
  }
}

void Differentiator::RecomputeAndReverse(Block& block, ValueMap& map,
                                         const std::vector<Var>& yield_grads,
                                         const std::unordered_set<const Op*>& skip) {
  Block& target = emit_.block();
  // The copies are marked active through their operands, which are copies or captures.
  for (int i = 0; i < block.num_args(); ++i) {
    if (IsActive(block.arg(i)) && map.contains(block.arg(i))) active_.insert(map[block.arg(i)]);
  }
  Op* last = target.last();
  Op* end = block.terminator();
  for (Op* op = block.first(); op != end; op = op->next()) {
    if (!skip.contains(op)) target.Insert(CloneOp(*op, map));
  }
  for (Op* op = last ? last->next() : target.first(); op; op = op->next()) {
    op->at = Behind(op->at);
    for (const auto& inner : op->blocks) {
      ForEachOp(*inner, [&](Op& nested) { nested.at = Behind(nested.at); });
    }
  }
  std::vector<Op*> ops;
  std::unordered_map<const Value*, Value*> replaced;  // results of loops, by what they were
  for (Op* op = last ? last->next() : target.first(); op;) {
    Op* next = op->next();
    const bool active = MarkActive(*op);
    if (active && (op->Is("for") || op->Is("while"))) {
      std::vector<const Value*> before;
      for (int i = 0; i < op->num_results(); ++i) before.push_back(op->result(i));
      op = KeepCarried(*op);
      for (size_t i = 0; i < before.size(); ++i) {
        replaced[before[i]] = op->result(static_cast<int>(i));
      }
    }
    if (active) ops.push_back(op);
    op = next;
  }
  for (int i = 0; i < end->num_operands(); ++i) {
    if (!yield_grads[i]) continue;
    auto it = map.find(end->operand(i));
    Value* yielded = it == map.end() ? end->operand(i) : it->second;
    if (auto now = replaced.find(yielded); now != replaced.end()) yielded = now->second;
    Accumulate(yielded, yield_grads[i], *end);
  }
  Reverse(ops, true);
}

void Differentiator::ReverseIf(Op& op) {
  const std::vector<Value*> captures = ActiveCaptures(op);
  if (captures.empty()) return;
  std::vector<Var> yield_grads;
  for (int i = 0; i < op.num_results(); ++i) yield_grads.push_back(DenseAdjoint(op.result(i)));

  Block& outer = emit_.block();
  Op* outer_before = emit_.before();
  Op* back = emit_.EmitOp(
      op.def(), {{op.operand(0)}, {}, {}, {}, static_cast<int>(captures.size())}, Behind(op.at));
  for (const auto& block : op.blocks) {
    // Inside, the captures start from nothing: what flows in is this branch's share alone.
    std::unordered_map<const Value*, Var> saved;
    for (Value* c : captures) {
      saved[c] = Adjoint(c);
      adjoints_.erase(c);
    }
    Block* inside = back->AddBlock();
    emit_.SetInsertionPoint(*inside);
    ValueMap map;
    RecomputeAndReverse(*block, map, yield_grads, {});
    std::vector<Value*> yields;
    for (Value* c : captures) {
      Var g = DenseAdjoint(c);
      if (!g) g = ZerosLike(c);
      yields.push_back(g.value());
      if (saved[c]) {
        adjoints_[c] = saved[c];
      } else {
        adjoints_.erase(c);
      }
    }
    emit_.EmitOp(program_.ops().Get("yield"), {yields, {}, {}, {}, 0}, Behind(op.at));
  }
  emit_.SetInsertionPoint(outer, outer_before);
  Diagnostics diagnostics;
  InferOp(program_, function_, *back, diagnostics);
  diagnostics.ThrowIfAny(program_.sources());
  for (size_t i = 0; i < captures.size(); ++i) {
    Accumulate(captures[i], emit_.Wrap(back->result(static_cast<int>(i))), op);
  }
}

// Replaces the loop by one that also pushes what each iteration starts from. The new loop's
// first results are the old ones.
Op* Differentiator::KeepCarried(Op& loop) {
  const bool is_for = loop.Is("for");
  const int skip = is_for ? 2 : 0;
  const int first = is_for ? 1 : 0;
  const int carried = loop.num_operands() - skip;
  for (int i = 0; i < carried; ++i) {
    if (loop.operand(skip + i)->type.is_stack()) {
      FailAt(loop,
             "this loop carries the stacks of a gradient; a second derivative through a loop "
             "is not supported");
    }
  }
  Block& parent = *loop.parent();
  Emitter emit(program_, function_, parent, &loop);
  emit.SetLocation(Behind(loop.at));
  std::vector<Value*> operands;
  for (int i = 0; i < loop.num_operands(); ++i) operands.push_back(loop.operand(i));
  std::vector<Var> stacks;
  for (int i = 0; i < carried; ++i) {
    stacks.push_back(emit.Emit("stack_new", {emit.Wrap(loop.operand(skip + i))}));
    operands.push_back(stacks.back().value());
  }
  KeptLoop kept{carried, carried, !is_for};
  if (!is_for) operands.push_back(emit.Constant(0, DType::kI64).value());
  const int results = static_cast<int>(operands.size()) - skip;
  Op* copy = emit.EmitOp(loop.def(), {operands, loop.attrs, {}, {}, results}, loop.at);

  for (size_t b = 0; b < loop.blocks.size(); ++b) {
    Block& from = *loop.blocks[b];
    Block& to = *copy->AddBlock();
    ValueMap map;
    for (int i = 0; i < from.num_args(); ++i) {
      map[from.arg(i)] = to.AddArg(from.arg(i)->name, from.arg(i)->type);
      if (IsActive(from.arg(i))) active_.insert(map[from.arg(i)]);
    }
    std::vector<Value*> stack_args;
    for (int i = 0; i < carried; ++i) {
      stack_args.push_back(to.AddArg("", stacks[i].type()));
    }
    Value* counter = is_for ? nullptr : to.AddArg("", Type::Scalar(DType::kI64));
    const bool is_body = b + 1 == loop.blocks.size();
    Emitter inside(program_, function_, to);
    inside.SetLocation(Behind(loop.at));
    std::vector<Value*> pushed;
    if (is_body) {
      for (int i = 0; i < carried; ++i) {
        pushed.push_back(inside
                             .Emit("stack_push", {inside.Wrap(stack_args[i]),
                                                  inside.Wrap(map[from.arg(first + i)])})
                             .value());
      }
    }
    Op* end = from.terminator();
    for (Op* op = from.first(); op != end; op = op->next()) {
      Op* cloned = to.Insert(CloneOp(*op, map));
      MarkActive(*cloned);
    }
    std::vector<Value*> yields;
    for (int i = 0; i < end->num_operands(); ++i) {
      auto it = map.find(end->operand(i));
      yields.push_back(it == map.end() ? end->operand(i) : it->second);
    }
    if (is_body) {
      yields.insert(yields.end(), pushed.begin(), pushed.end());
      if (counter) {
        Var one = inside.Constant(1, DType::kI64);
        yields.push_back((inside.Wrap(counter) + one).value());
      }
    }
    inside.EmitOp(end->def(), {yields, {}, {}, {}, 0}, end->at);
  }
  Diagnostics diagnostics;
  InferOp(program_, function_, *copy, diagnostics);
  diagnostics.ThrowIfAny(program_.sources());
  for (int i = 0; i < carried; ++i) {
    copy->result(i)->name = loop.result(i)->name;
    if (IsActive(loop.result(i))) active_.insert(copy->result(i));
    loop.result(i)->ReplaceAllUsesWith(copy->result(i));
  }
  parent.Erase(&loop);
  kept_[copy] = kept;
  return copy;
}

void Differentiator::ReverseLoop(Op& op) {
  const KeptLoop kept = kept_.at(&op);
  const bool is_for = op.Is("for");
  const int skip = is_for ? 2 : 0;
  const int first = is_for ? 1 : 0;
  Block& body = *op.blocks.back();

  // Captures: all that the original inside uses; the stacks' own ops capture nothing active.
  const std::vector<Value*> captures = ActiveCaptures(op);
  std::vector<int> active_carried;
  for (int i = 0; i < kept.carried; ++i) {
    if (IsActive(body.arg(first + i))) active_carried.push_back(i);
  }

  Var begin = is_for ? emit_.Wrap(op.operand(0)) : emit_.Constant(0, DType::kI64);
  Var end = is_for ? emit_.Wrap(op.operand(1)) : emit_.Wrap(op.result(op.num_results() - 1));
  std::vector<Value*> operands = {begin.value(), end.value()};
  for (int i : active_carried) {
    Var g = DenseAdjoint(op.result(i));
    if (!g) g = ZerosLike(op.result(i));
    operands.push_back(g.value());
  }
  for (Value* c : captures) operands.push_back(ZerosLike(c).value());
  for (int i = 0; i < kept.stacks; ++i) operands.push_back(op.result(kept.carried + i));

  Block& outer = emit_.block();
  Op* outer_before = emit_.before();
  const int num_results = static_cast<int>(operands.size()) - 2;
  Op* back =
      emit_.EmitOp(program_.ops().Get("for"), {operands, {}, {}, {}, num_results}, Behind(op.at));
  Block& inside = *back->AddBlock();
  Value* j = inside.AddArg("", Type::Scalar(DType::kI64));
  std::vector<Value*> args;
  for (int i = 0; i < num_results; ++i) {
    args.push_back(inside.AddArg("", operands[2 + i]->type));
  }
  emit_.SetInsertionPoint(inside);

  // What this iteration started from.
  ValueMap map;
  if (is_for) {
    Var one = emit_.Constant(1, DType::kI64);
    map[body.arg(0)] = (begin + end - one - emit_.Wrap(j)).value();
  }
  const int num_adjoints = static_cast<int>(active_carried.size());
  const int num_captures = static_cast<int>(captures.size());
  std::vector<Value*> stacks;
  for (int i = 0; i < kept.stacks; ++i) {
    const Var stack = emit_.Wrap(args[num_adjoints + num_captures + i]);
    std::vector<Var> popped = emit_.EmitMany("stack_pop", std::span(&stack, 1), 2);
    stacks.push_back(popped[0].value());
    map[body.arg(first + i)] = popped[1].value();
  }

  std::unordered_map<const Value*, Var> saved;
  for (Value* c : captures) {
    saved[c] = Adjoint(c);
    adjoints_.erase(c);
  }
  // The body is differentiated as the user wrote it: without the pushes and the counter.
  std::vector<Var> yield_grads(body.terminator()->num_operands());
  for (int k = 0; k < num_adjoints; ++k) yield_grads[active_carried[k]] = emit_.Wrap(args[k]);
  std::unordered_set<const Op*> added;
  for (int i = kept.carried; i < body.terminator()->num_operands(); ++i) {
    added.insert(body.terminator()->operand(i)->def());
  }
  RecomputeAndReverse(body, map, yield_grads, added);

  std::vector<Value*> yields;
  for (int k : active_carried) {
    Value* start = map[body.arg(first + k)];
    Var g = DenseAdjoint(start);
    if (!g) g = ZerosLike(start);
    yields.push_back(g.value());
  }
  for (int k = 0; k < num_captures; ++k) {
    Var total = emit_.Wrap(args[num_adjoints + k]);
    const Var g = DenseAdjoint(captures[k]);
    yields.push_back((g ? total + g : total).value());
    if (saved[captures[k]]) {
      adjoints_[captures[k]] = saved[captures[k]];
    } else {
      adjoints_.erase(captures[k]);
    }
  }
  yields.insert(yields.end(), stacks.begin(), stacks.end());
  emit_.EmitOp(program_.ops().Get("yield"), {yields, {}, {}, {}, 0}, Behind(op.at));
  emit_.SetInsertionPoint(outer, outer_before);

  Diagnostics diagnostics;
  InferOp(program_, function_, *back, diagnostics);
  diagnostics.ThrowIfAny(program_.sources());
  for (int k = 0; k < num_adjoints; ++k) {
    Accumulate(op.operand(skip + active_carried[k]), emit_.Wrap(back->result(k)), op);
  }
  for (int k = 0; k < num_captures; ++k) {
    Accumulate(captures[k], emit_.Wrap(back->result(num_adjoints + k)), op);
  }
}

}  // namespace catamaran

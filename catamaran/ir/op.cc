// Ops, values and blocks: ownership and use lists.

#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {

void Operand::Set(Value* value) {
  if (value_ == value) return;
  if (value_) {
    *link_ = next_;
    if (next_) next_->link_ = link_;
  }
  value_ = value;
  next_ = nullptr;
  link_ = nullptr;
  if (value) {
    next_ = value->first_use_;
    if (next_) next_->link_ = &next_;
    link_ = &value->first_use_;
    value->first_use_ = this;
  }
}

void Value::ReplaceAllUsesWith(Value* other) {
  CATAMARAN_CHECK(other != this);
  while (first_use_) first_use_->Set(other);
}

Op::Op(const OpDef& def, Location where) : at(where), def_(&def) {}

Op::~Op() {
  blocks.clear();  // nested ops may use this op's results
  for (int i = 0; i < num_operands_; ++i) operands_[i].Set(nullptr);
}

const std::string& Op::name() const { return def_->name; }

void Op::SetOperands(std::span<Value* const> values) {
  for (int i = 0; i < num_operands_; ++i) operands_[i].Set(nullptr);
  num_operands_ = static_cast<int>(values.size());
  operands_ = values.empty() ? nullptr : std::make_unique<Operand[]>(values.size());
  for (int i = 0; i < num_operands_; ++i) {
    operands_[i].user_ = this;
    operands_[i].index_ = i;
    operands_[i].Set(values[i]);
  }
}

Value* Op::AddResult(std::string name, Type type) {
  auto value = std::make_unique<Value>();
  value->name = std::move(name);
  value->type = std::move(type);
  value->def_ = this;
  value->index_ = num_results();
  results_.push_back(std::move(value));
  return results_.back().get();
}

bool Op::HasUses() const {
  for (const auto& r : results_) {
    if (r->has_uses()) return true;
  }
  return false;
}

const Attr& Op::attr(std::string_view attr_name) const {
  for (const NamedAttr& a : attrs) {
    if (a.name == attr_name) return a.value;
  }
  static const Attr kNone;
  const ArgSpec* spec = def_->FindArg(attr_name);
  return spec ? spec->default_value : kNone;
}

void Op::SetAttr(std::string_view attr_name, Attr value) {
  for (NamedAttr& a : attrs) {
    if (a.name == attr_name) {
      a.value = std::move(value);
      return;
    }
  }
  attrs.push_back({std::string(attr_name), std::move(value)});
}

Block* Op::AddBlock() {
  blocks.push_back(std::make_unique<Block>());
  blocks.back()->parent_op_ = this;
  return blocks.back().get();
}

Block::~Block() {
  // Last first: an op goes before the values that it uses.
  while (last_) {
    for (int i = 0; i < last_->num_results(); ++i) {
      Value* r = last_->result(i);
      while (r->first_use_) r->first_use_->Set(nullptr);
    }
    Remove(last_);
  }
  for (auto& a : args_) {
    while (a->first_use_) a->first_use_->Set(nullptr);
  }
}

Value* Block::AddArg(std::string name, Type type) {
  auto value = std::make_unique<Value>();
  value->name = std::move(name);
  value->type = std::move(type);
  value->block_ = this;
  value->index_ = num_args();
  args_.push_back(std::move(value));
  return args_.back().get();
}

void Block::RemoveArg(int i) {
  CATAMARAN_CHECK(!args_[i]->has_uses());
  args_.erase(args_.begin() + i);
  for (size_t k = i; k < args_.size(); ++k) args_[k]->index_ = static_cast<int>(k);
}

Op* Block::terminator() const { return last_ && last_->def().traits.terminator ? last_ : nullptr; }

Op* Block::Insert(std::unique_ptr<Op> owned, Op* before) {
  Op* op = owned.release();
  op->parent_ = this;
  op->next_ = before;
  op->prev_ = before ? before->prev_ : last_;
  (op->prev_ ? op->prev_->next_ : first_) = op;
  (before ? before->prev_ : last_) = op;
  return op;
}

std::unique_ptr<Op> Block::Remove(Op* op) {
  (op->prev_ ? op->prev_->next_ : first_) = op->next_;
  (op->next_ ? op->next_->prev_ : last_) = op->prev_;
  op->prev_ = op->next_ = nullptr;
  op->parent_ = nullptr;
  return std::unique_ptr<Op>(op);
}

void Block::Erase(Op* op) {
  CATAMARAN_CHECK(!op->HasUses());
  Remove(op);
}

Block* Function::commit_region() const {
  Op* end = body_->terminator();
  Op* op = end ? end->prev() : body_->last();
  return op && op->Is("commit") ? op->blocks[0].get() : nullptr;
}

void ForEachOp(const Block& block, FunctionRef<void(Op&)> visit) {
  std::vector<const Block*> pending = {&block};
  while (!pending.empty()) {
    const Block* b = pending.back();
    pending.pop_back();
    for (Op* op = b->first(); op;) {
      Op* next = op->next();
      for (auto it = op->blocks.rbegin(); it != op->blocks.rend(); ++it)
        pending.push_back(it->get());
      visit(*op);
      op = next;
    }
  }
}

size_t CountOps(const Block& block) {
  size_t count = 0;
  ForEachOp(block, [&](Op&) { ++count; });
  return count;
}

}  // namespace catamaran

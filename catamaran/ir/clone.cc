// Deep copies of programs and their parts.

#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {
namespace {

Value* Mapped(Value* value, const ValueMap& map) {
  if (!value) return nullptr;
  auto it = map.find(value);
  return it == map.end() ? value : it->second;
}

Items CloneItems(const Items& from);

std::unique_ptr<BuilderDecl> CloneBuilder(const BuilderDecl& from) {
  auto copy = std::make_unique<BuilderDecl>();
  copy->name = from.name;
  copy->params = from.params;
  copy->items = CloneItems(from.items);
  copy->at = from.at;
  return copy;
}

Items CloneItems(const Items& from) {
  Items to;
  for (const Item& item : from.list()) {
    if (auto* s = std::get_if<std::unique_ptr<StateDecl>>(&item)) {
      to.Add(StateDecl(**s));
    } else if (auto* f = std::get_if<std::unique_ptr<Function>>(&item)) {
      to.Add(CloneFunction(**f));
    } else if (auto* i = std::get_if<std::unique_ptr<Instance>>(&item)) {
      to.Add(Instance(**i));
    } else if (auto* b = std::get_if<std::unique_ptr<BuilderDecl>>(&item)) {
      to.Add(CloneBuilder(**b));
    } else {
      const Import& import = *std::get<std::unique_ptr<Import>>(item);
      to.Add(std::make_unique<Import>(
          Import{import.alias, import.path,
                 std::make_unique<Program>(CloneProgram(*import.program)), import.at}));
    }
  }
  return to;
}

}  // namespace

std::unique_ptr<Op> CloneOp(const Op& op, ValueMap& map) {
  auto copy = std::make_unique<Op>(op.def(), op.at);
  std::vector<Value*> operands;
  operands.reserve(op.num_operands());
  for (int i = 0; i < op.num_operands(); ++i) operands.push_back(Mapped(op.operand(i), map));
  copy->SetOperands(operands);
  for (int i = 0; i < op.num_results(); ++i) {
    map[op.result(i)] = copy->AddResult(op.result(i)->name, op.result(i)->type);
  }
  copy->attrs = op.attrs;
  copy->states = op.states;
  copy->callee = op.callee;
  for (const auto& block : op.blocks) {
    Block* to = copy->AddBlock();
    for (int i = 0; i < block->num_args(); ++i) {
      map[block->arg(i)] = to->AddArg(block->arg(i)->name, block->arg(i)->type);
    }
    CloneOpsInto(*block, *to, map);
  }
  return copy;
}

void CloneOpsInto(const Block& from, Block& to, ValueMap& map) {
  for (Op* op = from.first(); op; op = op->next()) to.Insert(CloneOp(*op, map));
}

std::unique_ptr<Function> CloneFunction(const Function& from) {
  auto copy = std::make_unique<Function>();
  copy->name = from.name;
  copy->at = from.at;
  copy->statics = from.statics;
  copy->order = from.order;
  copy->arg_locations = from.arg_locations;
  copy->results = from.results;
  copy->results_declared = from.results_declared;
  copy->typed = from.typed;
  copy->checks = from.checks;
  copy->next_fresh = from.next_fresh;
  ValueMap map;
  map.reserve(CountOps(from.body()) + from.num_params());
  for (int i = 0; i < from.num_params(); ++i) {
    map[from.param(i)] = copy->body().AddArg(from.param(i)->name, from.param(i)->type);
  }
  CloneOpsInto(from.body(), copy->body(), map);
  return copy;
}

Program CloneProgram(const Program& from) {
  Program copy(from.name, from.ops_ptr(), from.sources_ptr());
  copy.flat = from.flat;
  copy.items = CloneItems(from.items);
  return copy;
}

}  // namespace catamaran

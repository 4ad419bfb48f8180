#include "catamaran/exec/op_cost.h"

namespace catamaran {
namespace {

double Bytes(const Value* value, const Slot& slot) {
  if (value == nullptr || !value->type.is_tensor()) return 0;
  return static_cast<double>(slot.size()) * static_cast<double>(SizeOf(slot.tensor.dtype));
}

}  // namespace

OpCost CostOfOp(const Op& op, std::span<Slot* const> ins, std::span<Slot* const> outs, Isa isa) {
  if (op.def().traits.structural || op.def().traits.alias_first) return {};
  if (op.def().cost == nullptr) {
    OpCost cost;
    for (size_t i = 0; i < ins.size(); ++i) {
      cost.bytes += Bytes(op.operand(static_cast<int>(i)), *ins[i]);
    }
    for (size_t i = 0; i < outs.size(); ++i) {
      const Value* value = op.result(static_cast<int>(i));
      cost.bytes += Bytes(value, *outs[i]);
      if (value->type.is_tensor()) cost.operations += static_cast<double>(outs[i]->size());
    }
    return cost;
  }
  KernelQuery query;
  query.op = &op;
  query.in = ins;
  query.out = outs;
  query.isa = isa;
  Words words;
  if (op.def().sizes) op.def().sizes(query, words);
  query.sizes = &words;
  return op.def().cost(query);
}

}  // namespace catamaran

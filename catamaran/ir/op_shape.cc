#include "catamaran/ir/op_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

std::string Counted(int n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string OperandsError(const Op& op) {
  int slots = 0;  // operands before the variadic ones
  bool variadic = false;
  for (const ArgSpec& arg : op.def().args) {
    if (arg.kind == ArgKind::kVariadic) {
      variadic = true;
    } else if (arg.kind == ArgKind::kValue || arg.kind == ArgKind::kOptional) {
      const bool given = slots < op.num_operands() && op.operand(slots);
      if (arg.kind == ArgKind::kValue && !given) {
        return fmt::format("the operand `{}` is missing", arg.name);
      }
      ++slots;
    }
  }
  if (!variadic && op.num_operands() > slots) {
    return fmt::format("{}, wanted {}", Counted(op.num_operands(), "operand"), slots);
  }
  for (int i = slots; i < op.num_operands(); ++i) {
    if (!op.operand(i)) return fmt::format("operand {} is missing", i);
  }
  return {};
}

std::string StatesError(const Op& op) {
  int wanted = 0;
  bool any = false;
  for (const ArgSpec& arg : op.def().args) {
    if (arg.kind == ArgKind::kState) ++wanted;
    if (arg.kind == ArgKind::kStates) any = true;
  }
  const int found = static_cast<int>(op.states.size());
  if (any ? found >= wanted : found == wanted) return {};
  return fmt::format("{}, wanted {}", Counted(found, "state"), wanted);
}

std::string AttrsError(const Op& op) {
  std::vector<std::string_view> names;
  for (const NamedAttr& attr : op.attrs) names.push_back(attr.name);
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return fmt::format("the attribute `{}` is given twice", *twice);
  }
  if (op.def().traits.open_attrs) return {};
  for (const NamedAttr& attr : op.attrs) {
    const ArgSpec* arg = op.def().FindArg(attr.name);
    if (!arg || arg->kind != ArgKind::kAttr) {
      return fmt::format("it has no attribute `{}`", attr.name);
    }
  }
  for (const ArgSpec& arg : op.def().args) {
    if (arg.kind == ArgKind::kAttr && arg.default_value.empty() && !arg.optional &&
        FindAttr(op.attrs, arg.name).empty()) {
      return fmt::format("the attribute `{}` is missing", arg.name);
    }
  }
  return {};
}

// The terminator of a block is its last op, of that name, with that many operands (-1: any).
std::string EndError(const Block& block, std::string_view name, int operands) {
  for (const Op* op = block.first(); op; op = op->next()) {
    if (op->def().traits.terminator && op != block.last()) {
      return fmt::format("`{}` stands before the end of its block", op->name());
    }
  }
  const Op* last = block.last();
  if (!last || !last->Is(name)) return fmt::format("the block does not end in `{}`", name);
  if (operands >= 0 && last->num_operands() != operands) {
    return fmt::format("the block yields {}, wanted {}", Counted(last->num_operands(), "value"),
                       operands);
  }
  return {};
}

std::string BlockError(const Block& block, int args, int yields) {
  if (block.num_args() != args) {
    return fmt::format("{} of its block, wanted {}", Counted(block.num_args(), "argument"), args);
  }
  return EndError(block, "yield", yields);
}

std::string BlocksError(const Op& op) {
  const size_t wanted = op.Is("if") || op.Is("while") ? 2 : op.Is("for") || op.Is("commit") ? 1 : 0;
  if (op.blocks.size() != wanted) {
    return fmt::format("{}, wanted {}", Counted(static_cast<int>(op.blocks.size()), "block"),
                       wanted);
  }
  if (op.Is("commit")) {
    const Block& region = *op.blocks[0];
    if (region.num_args() != 0) return "a commit region has no arguments";
    for (const Op* effect = region.first(); effect; effect = effect->next()) {
      if (!effect->def().traits.effect) {
        return fmt::format("a commit region holds effects only, not `{}`", effect->name());
      }
    }
    return {};
  }
  if (op.Is("if")) {
    for (const auto& block : op.blocks) {
      if (std::string error = BlockError(*block, 0, op.num_results()); !error.empty()) return error;
    }
    return {};
  }
  const int carried = op.num_operands() - (op.Is("for") ? 2 : 0);
  if (op.num_results() != carried) {
    return fmt::format("{}, wanted {}", Counted(op.num_results(), "result"), carried);
  }
  if (op.Is("for")) return BlockError(*op.blocks[0], carried + 1, carried);
  if (std::string error = BlockError(*op.blocks[0], carried, 1); !error.empty()) return error;
  return BlockError(*op.blocks[1], carried, carried);
}

}  // namespace

std::string OpShapeError(const Op& op) {
  const OpDef& def = op.def();
  if (std::string error = OperandsError(op); !error.empty()) return error;
  if (std::string error = StatesError(op); !error.empty()) return error;
  if (std::string error = AttrsError(op); !error.empty()) return error;
  if (def.num_results >= 0 && op.num_results() != def.num_results) {
    return fmt::format("{}, wanted {}", Counted(op.num_results(), "result"), def.num_results);
  }
  if (op.Is("call") ? op.callee.empty() : !op.callee.empty()) {
    return op.callee.empty() ? "the callee is missing" : "it cannot have a callee";
  }
  if (op.Is("if") || op.Is("for") || op.Is("while") || op.Is("commit") || !op.blocks.empty()) {
    return BlocksError(op);
  }
  return {};
}

std::string BodyShapeError(const Block& body) { return EndError(body, "return", -1); }

}  // namespace catamaran

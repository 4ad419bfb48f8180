// cli/cost.cc

#include "cli/cost.h"

#include <charconv>
#include <set>

#include "catamaran/base/cpu.h"
#include "catamaran/exec/op_cost.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

std::optional<int64_t> Evaluate(const Dim& dim, const DimBinding& dims) {
  return dim.Evaluate([&](const std::string& name) -> std::optional<int64_t> {
    const auto found = dims.find(name);
    if (found == dims.end()) return std::nullopt;
    return found->second;
  });
}

// Names that sizes depend on and nobody gave. Those of stacks and rows do not matter.
void CheckBound(const Function& function, const DimBinding& dims) {
  std::set<std::string> unbound;
  const auto look = [&](const Value& value) {
    if (!value.type.is_tensor()) return;
    value.type.ForEachName([&](const std::string& name) {
      if (!dims.contains(name)) unbound.insert(name);
    });
  };
  for (int i = 0; i < function.num_params(); ++i) look(*function.param(i));
  ForEachOp(function.body(), [&](Op& op) {
    for (int i = 0; i < op.num_results(); ++i) look(*op.result(i));
  });
  if (unbound.empty()) return;
  std::string wanted;
  for (const std::string& name : unbound) wanted += fmt::format(" --dim {}=…", name);
  throw CommandError(kUsage, fmt::format("the cost of {} needs sizes:{}", function.name, wanted));
}

Slot SlotOf(const Value* value, const DimBinding& dims) {
  Slot slot;
  if (value == nullptr || !(value->type.is_tensor() || value->type.is_rows())) return slot;
  slot.tensor.dtype = value->type.dtype();
  for (const Dim& dim : value->type.StorageDims()) {
    slot.tensor.shape.Append(Evaluate(dim, dims).value_or(0));
  }
  if (value->type.is_ragged()) slot.num_rows = Evaluate(value->type.dim(0), dims).value_or(0);
  return slot;
}

OpCost CostOf(const Op& op, const DimBinding& dims) {
  std::vector<Slot> slots;
  for (int i = 0; i < op.num_operands(); ++i) slots.push_back(SlotOf(op.operand(i), dims));
  for (int i = 0; i < op.num_results(); ++i) slots.push_back(SlotOf(op.result(i), dims));
  std::vector<Slot*> pointers;
  for (Slot& slot : slots) pointers.push_back(&slot);
  const std::span<Slot* const> all(pointers);
  const auto ins = static_cast<size_t>(op.num_operands());
  return CostOfOp(op, all.first(ins), all.subspan(ins), DetectIsa());
}

// The value of a loop bound that the program states.
std::optional<int64_t> BoundOf(const Value* value, const DimBinding& dims) {
  const Op* def = value == nullptr ? nullptr : value->def();
  if (def == nullptr || !(def->Is("constant") || def->Is("dim"))) return std::nullopt;
  const Dim* dim = def->attr("value").get<Dim>();
  return dim == nullptr ? std::nullopt : Evaluate(*dim, dims);
}

void Walk(const Block& block, double runs, const DimBinding& dims, CostTable& table) {
  for (const Op* op = block.first(); op != nullptr; op = op->next()) {
    const OpCost cost = CostOf(*op, dims);
    table.ops[op] = cost;
    table.runs[op] = runs;
    table.total.operations += runs * cost.operations;
    table.total.bytes += runs * cost.bytes;
    double inner = runs;
    if (op->Is("for")) {
      const auto begin = BoundOf(op->operand(0), dims), end = BoundOf(op->operand(1), dims);
      if (begin && end) {
        inner *= static_cast<double>(std::max<int64_t>(0, *end - *begin));
      } else {
        table.unknown_loops = true;
      }
    } else if (op->Is("while")) {
      table.unknown_loops = true;
    }
    for (const auto& nested : op->blocks) Walk(*nested, inner, dims, table);
  }
}

}  // namespace

DimBinding ParseDims(const std::vector<std::string>& texts) {
  DimBinding dims;
  for (const std::string& text : texts) {
    const auto [name, size] = SplitAssignment(text, "--dim");
    int64_t value = 0;
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), value);
    if (error != std::errc() || end != size.data() + size.size() || value < 0) {
      throw CommandError(kUsage, fmt::format("--dim {}: {} is not a size", text, size));
    }
    dims[name] = value;
  }
  return dims;
}

CostTable CostOf(const Function& function, const DimBinding& dims) {
  CheckBound(function, dims);
  CostTable table;
  Walk(function.body(), 1, dims, table);
  return table;
}

std::string Amount(double value) {
  constexpr std::string_view kUnits[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", value);
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, kUnits[unit]);
}

}  // namespace catamaran::cli

#include "catamaran/train/label_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "catamaran/base/error.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

// The range that `op` says for its operand i; null: none.
const LabelRange* RangeOf(const Op& op, int i) {
  int operand = 0;
  for (const ArgSpec& arg : op.def().args) {
    if (arg.kind != ArgKind::kValue && arg.kind != ArgKind::kOptional) continue;
    if (operand++ == i) return arg.label ? &*arg.label : nullptr;
  }
  return nullptr;
}

// Whether result 0 has the elements of operand i and no others.
bool Passes(const Op& op, int i) {
  return i == 0 && op.num_results() == 1 && (op.def().traits.alias_first || op.Is("cast"));
}

std::string NumberText(double number) { return fmt::format("{:g}", number); }

}  // namespace

LabelRules::LabelRules(const Program& flat, const EntryPoints& entry) {
  const Function* const train = flat.items.FindFunction(entry.train);
  CATAMARAN_CHECK(train != nullptr, "no function {}", entry.train);
  const std::unique_ptr<Function> whole = InlineCalls(flat, *train);
  std::unordered_map<const Value*, size_t> labels;  // and the number of their rule
  for (int i = 0; i < whole->num_params(); ++i) {
    const Value* const param = whole->param(i);
    const bool weight = param->name == kWeightArgument;
    if (!weight && std::ranges::count(entry.labels, param->name) == 0) continue;
    labels[param] = rules_.size();
    rules_.push_back({.argument = param->name,
                      .low = weight ? 0 : -LabelRange::kLargest,
                      .high = LabelRange::kLargest});
  }
  ForEachOp(whole->body(), [&](Op& op) {
    for (int i = 0; i < op.num_operands(); ++i) {
      const auto found = labels.find(op.operand(i));
      if (found == labels.end()) continue;
      Rule& rule = rules_[found->second];
      if (Passes(op, i)) labels.emplace(op.result(), found->second);
      const LabelRange* const range = RangeOf(op, i);
      if (range == nullptr) continue;
      double low = range->low, high = range->high;
      if (range->classes_of >= 0 && !IsFloat(op.operand(i)->type.dtype())) {
        const Type& scores = op.operand(range->classes_of)->type;
        const int axis = range->classes_axis < 0 ? scores.rank() - 1 : range->classes_axis;
        const Dim& count = scores.dim(static_cast<size_t>(axis));
        if (count.is_constant()) high = static_cast<double>(count.constant() - 1);
        rule.classes = true;
        const Attr* const ignored =
            op.def().FindArg("ignore_index") != nullptr ? &op.attr("ignore_index") : nullptr;
        if (ignored != nullptr && !ignored->empty()) {
          rule.also = static_cast<int64_t>(ignored->AsDouble());
        }
      }
      if (low <= rule.low && high >= rule.high) continue;
      rule.low = std::max(rule.low, low);
      rule.high = std::min(rule.high, high);
      rule.by = fmt::format("{}, {}", op.name(), flat.sources().ToString(op.at));
    }
  });
}

const LabelRules::Rule* LabelRules::Find(std::string_view argument) const {
  const auto found = std::ranges::find(rules_, argument, &Rule::argument);
  return found == rules_.end() ? nullptr : &*found;
}

bool LabelRules::Fits(const Rule& rule, double value) {
  if (rule.also && value == static_cast<double>(*rule.also)) return true;
  return value >= rule.low && value <= rule.high && (!rule.classes || value == std::floor(value));
}

std::string LabelRules::Describe(const Rule& rule, double value) {
  const bool any = rule.low == -LabelRange::kLargest && rule.high == LabelRange::kLargest;
  std::string wanted;
  if (any) {
    wanted = fmt::format("a finite number, at most {} in size", NumberText(rule.high));
  } else if (rule.high == LabelRange::kLargest) {
    wanted = fmt::format("a finite number from {} on", NumberText(rule.low));
  } else {
    wanted = fmt::format("{} from {} to {}", rule.classes ? "a class" : "a number",
                         NumberText(rule.low), NumberText(rule.high));
  }
  return fmt::format("found {}, wanted {}{}", std::isnan(value) ? "no number" : NumberText(value),
                     wanted, rule.by.empty() ? "" : fmt::format(" ({})", rule.by));
}

std::string LabelRules::Problem(std::string_view argument, double value) const {
  const Rule* const rule = Find(argument);
  return rule == nullptr || Fits(*rule, value) ? "" : Describe(*rule, value);
}

std::function<void(const RowBlock&)> LabelRules::Check(const Program& flat,
                                                       const EntryPoints& entry,
                                                       const Schema& schema,
                                                       const FeedOptions& feed) const {
  struct Checked {
    int column = 0;
    Rule rule;
  };
  std::vector<Checked> checked;
  const FeedBinding binding(flat, *flat.items.FindFunction(entry.train), schema, feed);
  for (const BoundArgument& argument : binding.arguments()) {
    const Rule* const rule = Find(argument.name);
    if (rule == nullptr) continue;
    for (const BoundArgument::Part& part : argument.parts) {
      if (!part.weights) checked.push_back({part.column, *rule});
    }
  }
  if (checked.empty()) return nullptr;
  return [checked](const RowBlock& rows) {
    for (const auto& [c, rule] : checked) {
      const Column& column = rows.schema()[c];
      const ColumnBlock& block = rows[c];
      const auto look = [&](const auto& values) {
        const auto bad = std::ranges::find_if(
            values, [&](auto value) { return !Fits(rule, static_cast<double>(value)); });
        if (bad == values.end()) return;
        const int64_t at = bad - values.begin();
        int64_t row = 0;
        if (column.has_offsets()) {
          while (block.offsets[static_cast<size_t>(row) + 1] <= at) ++row;
        } else {
          row = at / std::max<int64_t>(1, column.width());
        }
        Fail(ErrorCode::kBadData, "row {}: column '{}': {}", row, column.name,
             Describe(rule, static_cast<double>(*bad)));
      };
      if (column.kind == ColumnKind::kString) continue;
      if (column.dtype == DType::kF32) {
        look(block.floats.span());
      } else if (column.dtype == DType::kI64) {
        look(block.ints.span());
      } else {
        look(block.bytes.span());
      }
    }
  };
}

}  // namespace catamaran

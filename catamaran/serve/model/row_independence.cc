// serve/model/row_independence.cc

#include "catamaran/serve/model/row_independence.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

// How the rows of a batch stand in a value: nowhere; in front, each one stretch of memory; or in a
// way that we do not follow.
enum class Rows { kNone, kLeading, kElsewhere };

// What an op must fulfil so that it works on each row alone, where its types already say that rows
// go in and come out in front.
enum class Rule {
  kTypes,      // nothing else: its types would show it if rows met
  kAxis,       // its `axis` or `axes` is not the first
  kIndices,    // the first operand, into which others point, has no rows
  kMatmul,     // if the second operand has rows, it is a stack of matrices
  kEinsum,     // all operands with rows call that axis by the first letter of the result
  kBatchNorm,  // it uses given statistics
  kPad,        // it adds no rows and takes none away
  kLayerNorm,  // rows are not among the axes that are normalised
};

struct OpRule {
  std::string_view op;
  Rule rule = Rule::kTypes;
  int min_rank = 1;  // of operands with rows: the last axes are what the op works on
};

constexpr OpRule kRules[] = {
    {"adaptive_avg_pool", Rule::kTypes, 3},
    {"adaptive_max_pool", Rule::kTypes, 3},
    {"all", Rule::kAxis},
    {"any", Rule::kAxis},
    {"argmax", Rule::kAxis},
    {"argmin", Rule::kAxis},
    {"argsort", Rule::kAxis},
    {"attention", Rule::kTypes, 3},
    {"avg_pool", Rule::kTypes, 3},
    {"batch_norm", Rule::kBatchNorm, 2},
    {"cast"},
    {"concat", Rule::kAxis},
    {"conv1d", Rule::kTypes, 3},
    {"conv2d", Rule::kTypes, 4},
    {"conv3d", Rule::kTypes, 5},
    {"conv_transpose1d", Rule::kTypes, 3},
    {"conv_transpose2d", Rule::kTypes, 4},
    {"conv_transpose3d", Rule::kTypes, 5},
    {"count_nonzero", Rule::kAxis},
    {"cross", Rule::kTypes, 2},
    {"cummax", Rule::kAxis},
    {"cummin", Rule::kAxis},
    {"cumprod", Rule::kAxis},
    {"cumsum", Rule::kAxis},
    {"einsum", Rule::kEinsum},
    {"embedding", Rule::kIndices},
    {"embedding_bag", Rule::kIndices},
    {"expand"},
    {"expand_like"},
    {"factorization_machine", Rule::kTypes, 3},
    {"fill"},
    {"flatten"},
    {"flip", Rule::kAxis},
    {"full_like"},
    {"gather", Rule::kIndices},
    {"global_avg_pool", Rule::kTypes, 3},
    {"global_max_pool", Rule::kTypes, 3},
    {"glu", Rule::kAxis},
    {"group_norm", Rule::kTypes, 2},
    {"gru", Rule::kTypes, 1},
    {"hash_ids"},
    {"instance_norm", Rule::kTypes, 3},
    {"interpolate", Rule::kTypes, 3},
    {"l2_normalize", Rule::kAxis},
    {"layer_norm", Rule::kLayerNorm, 2},
    {"local_response_norm", Rule::kTypes, 2},
    {"log_softmax", Rule::kAxis},
    {"logcumsumexp", Rule::kAxis},
    {"logsumexp", Rule::kAxis},
    {"lookup"},
    {"lstm", Rule::kTypes, 1},
    {"masked_fill"},
    {"matmul", Rule::kMatmul},
    {"matmul_in_order", Rule::kMatmul},
    {"max", Rule::kAxis},
    {"max_pool", Rule::kTypes, 3},
    {"mean", Rule::kAxis},
    {"min", Rule::kAxis},
    {"norm", Rule::kAxis},
    {"one_hot"},
    {"ones_like"},
    {"pad", Rule::kPad},
    {"pairwise_dot", Rule::kTypes, 3},
    {"pixel_shuffle", Rule::kTypes, 4},
    {"pixel_unshuffle", Rule::kTypes, 4},
    {"prod", Rule::kAxis},
    {"ragged_concat", Rule::kAxis},
    {"ragged_cumsum"},
    {"ragged_drop"},
    {"ragged_expand"},
    {"ragged_lengths"},
    {"ragged_like"},
    {"ragged_pool"},
    {"ragged_reverse"},
    {"ragged_slice"},
    {"ragged_softmax"},
    {"ragged_take"},
    {"ragged_unpad_like"},
    {"ragged_values"},
    {"reshape"},
    {"rms_norm", Rule::kLayerNorm, 2},
    {"rotary", Rule::kTypes, 3},
    {"slice", Rule::kAxis},
    {"softmax", Rule::kAxis},
    {"sort", Rule::kAxis},
    {"split", Rule::kAxis},
    {"squeeze"},
    {"stack", Rule::kAxis},
    {"std", Rule::kAxis},
    {"stop_gradient"},
    {"sum", Rule::kAxis},
    {"take_along", Rule::kAxis},
    {"topk", Rule::kAxis},
    {"transpose"},
    {"unsqueeze"},
    {"unstack", Rule::kAxis},
    {"var", Rule::kAxis},
    {"zeros_like"},
};

const OpRule* FindRule(std::string_view op) {
  const auto* found = std::find_if(std::begin(kRules), std::end(kRules),
                                   [&](const OpRule& rule) { return rule.op == op; });
  return found == std::end(kRules) ? nullptr : found;
}

// Names of sizes that grow with the rows of a batch: the rows themselves, and the elements of all
// their sequences together, which stand row after row too.
using RowNames = std::set<std::string, std::less<>>;

bool Names(const Dim& dim, const RowNames& rows) {
  bool named = false;
  dim.ForEachName([&](const std::string& name) { named |= rows.contains(name); });
  return named;
}

bool Names(const Type& type, const RowNames& rows) {
  bool named = false;
  type.ForEachName([&](const std::string& name) { named |= rows.contains(name); });
  return named;
}

bool Names(const Attr& attr, const RowNames& rows) {
  bool named = false;
  attr.SubstituteDims([&](const std::string& name) -> std::optional<Dim> {
    named |= rows.contains(name);
    return std::nullopt;
  });
  return named;
}

// B, 3*B, B*T: rows one after another, each of so many parts.
bool CountsRows(const Dim& dim, const RowNames& rows) {
  if (dim.is_constant() || dim.sum()->terms.size() != 1) return false;
  int times = 0;
  for (const Dim::Atom& factor : dim.sum()->terms[0].factors) {
    if (factor.quotient) return false;
    if (rows.contains(factor.name)) ++times;
  }
  return times == 1;
}

class Check {
 public:
  Check(const Function& function, const std::string& rows) : function_(function), rows_{rows} {
    const auto add = [&](const Type& type) {
      if (type.is_tensor() && type.is_ragged()) rows_.insert(type.ragged_name());
    };
    for (int i = 0; i < function.num_params(); ++i) add(function.param(i)->type);
    ForEachOp(function.body(), [&](Op& op) {
      for (int i = 0; i < op.num_results(); ++i) add(op.result(i)->type);
    });
  }

  // Empty: rows are independent.
  std::string Run() {
    for (const DimCheck& check : function_.checks) {
      if (Names(check.left, rows_) || Names(check.right, rows_)) {
        return fmt::format("{} and {} are compared when it runs ({})", check.left.ToString(),
                           check.right.ToString(), check.what);
      }
    }
    std::string problem;
    ForEachOp(function_.body(), [&](Op& op) {
      if (problem.empty()) problem = CheckOp(op);
    });
    return problem;
  }

 private:
  Rows RowsOf(const Type& type) const {
    if (!Names(type, rows_)) return Rows::kNone;
    if (!type.is_tensor() || type.rank() == 0) return Rows::kElsewhere;
    if (!CountsRows(type.dim(0), rows_)) return Rows::kElsewhere;
    for (int axis = 1; axis < type.rank(); ++axis) {
      if (axis != type.ragged_axis() && Names(type.dim(axis), rows_)) return Rows::kElsewhere;
    }
    return Rows::kLeading;
  }

  bool HasRows(const Value* value) const {
    return value != nullptr && RowsOf(value->type) == Rows::kLeading;
  }

  std::string CheckOp(const Op& op) const {
    bool in = false, out = false, lost = false;
    for (int i = 0; i < op.num_operands(); ++i) {
      if (op.operand(i) == nullptr) continue;
      const Rows rows = RowsOf(op.operand(i)->type);
      if (rows == Rows::kElsewhere) return Mixes(op);
      in |= rows == Rows::kLeading;
    }
    for (int i = 0; i < op.num_results(); ++i) {
      const Rows rows = RowsOf(op.result(i)->type);
      if (rows == Rows::kElsewhere) return Mixes(op);
      out |= rows == Rows::kLeading;
      lost |= rows == Rows::kNone;
    }
    if (op.def().traits.structural) return CheckStructural(op);
    if (!in && !out) return NamesRows(op) ? Mixes(op) : "";
    if (op.def().traits.keep || op.def().traits.effect || op.def().traits.random) return Mixes(op);
    // What it does to rows must be known, and its results must be rows again.
    const bool spare_results = op.Is("batch_norm");
    if (in && (!out || (lost && !spare_results))) return Mixes(op);
    if (op.def().traits.elementwise) return AlignsRows(op) ? "" : Mixes(op);
    // A size may stand where a shape is asked for, not where a number is.
    if (NamesRows(op) && !Names(op.attr("shape"), rows_)) return Mixes(op);
    if (Names(op.attr("value"), rows_)) return Mixes(op);
    const OpRule* rule = FindRule(op.name());
    if (rule == nullptr || !Fulfils(op, *rule)) return Mixes(op);
    return "";
  }

  // Control flow passes values on; each op in its blocks is looked at by itself. A size as a value
  // is the same for all rows only if it does not count them.
  std::string CheckStructural(const Op& op) const {
    if (op.Is("commit")) return fmt::format("{} changes state", function_.name);
    if (op.Is("call") || (op.Is("dim") && NamesRows(op))) return Mixes(op);
    if ((op.Is("for") || op.Is("while")) && NamesRows(op)) return Mixes(op);
    return "";
  }

  bool NamesRows(const Op& op) const {
    return std::any_of(op.attrs.begin(), op.attrs.end(),
                       [&](const NamedAttr& attr) { return Names(attr.value, rows_); });
  }

  // Operands broadcast from the right: those with rows need all axes of the result.
  bool AlignsRows(const Op& op) const {
    for (int i = 0; i < op.num_operands(); ++i) {
      if (HasRows(op.operand(i)) && op.operand(i)->type.rank() != op.result()->type.rank()) {
        return false;
      }
    }
    return true;
  }

  bool Fulfils(const Op& op, const OpRule& rule) const {
    for (int i = 0; i < op.num_operands(); ++i) {
      const Value* operand = op.operand(i);
      // Of a recurrent layer or attention some operands have less axes, each with its rows in
      // front.
      if (i == 0 && HasRows(operand) && operand->type.rank() < rule.min_rank) return false;
    }
    switch (rule.rule) {
      case Rule::kTypes:
        return !op.Is("attention") || MaskAligns(op);
      case Rule::kAxis:
        return AxisIsBehindRows(op);
      case Rule::kIndices:
        return !HasRows(op.operand(0));
      case Rule::kMatmul:
        return !HasRows(op.operand(1)) || op.operand(1)->type.rank() >= 3;
      case Rule::kEinsum:
        return EquationKeepsRows(op);
      case Rule::kBatchNorm:
        return !op.attr("training").AsBool();
      case Rule::kPad:
        return StartsWithZero(op.attr("before")) && StartsWithZero(op.attr("after"));
      case Rule::kLayerNorm:
        return op.operand(0)->type.rank() > op.operand(1)->type.rank() && !HasRows(op.operand(1));
    }
    return false;
  }

  bool MaskAligns(const Op& op) const {
    if (op.num_operands() < 4 || !HasRows(op.operand(3))) return true;
    return op.operand(3)->type.rank() == 4;
  }

  bool AxisIsBehindRows(const Op& op) const {
    const Type& type = op.Is("stack") ? op.result()->type : op.operand(0)->type;
    const Attr& axis = op.attr("axis");
    if (!axis.empty()) return IsBehindRows(axis.AsInt(), type.rank());
    const Attr& axes = op.attr("axes");
    if (axes.empty()) return false;
    const std::vector<int64_t> all = axes.AsInts();
    return !all.empty() && std::all_of(all.begin(), all.end(),
                                       [&](int64_t one) { return IsBehindRows(one, type.rank()); });
  }

  static bool StartsWithZero(const Attr& sizes) {
    const std::vector<Dim> dims = sizes.AsDims();
    return !dims.empty() && dims[0] == Dim(0);
  }

  static bool IsBehindRows(int64_t axis, int rank) { return axis != 0 && axis != -rank; }

  bool EquationKeepsRows(const Op& op) const {
    const std::string equation = op.attr("equation").AsWord();
    const size_t arrow = equation.find("->");
    if (arrow == equation.npos || arrow + 2 >= equation.size()) return false;
    if (equation.find_first_of(". ") != equation.npos) return false;
    const char letter = equation[arrow + 2];
    size_t begin = 0;
    for (int i = 0; i < op.num_operands(); ++i) {
      const size_t end = std::min(equation.find(',', begin), arrow);
      const bool named = equation.substr(begin, end - begin).find(letter) != std::string::npos;
      if (HasRows(op.operand(i)) ? equation[begin] != letter : named) return false;
      begin = end + 1;
    }
    return true;
  }

  std::string Mixes(const Op& op) const {
    return fmt::format("{} at line {} may let rows meet", op.name(), op.at.line);
  }

  const Function& function_;
  RowNames rows_;
};

}  // namespace

RowIndependence FindRowIndependence(const Function& function) {
  const auto no = [](std::string reason) { return RowIndependence{"", std::move(reason)}; };
  if (function.num_params() == 0) return no("it has no arguments");
  std::string rows;
  for (int i = 0; i < function.num_params(); ++i) {
    const Value& argument = *function.param(i);
    const Type& type = argument.type;
    if (!type.is_tensor() || type.rank() == 0 || type.dim(0).name() == nullptr) {
      return no(fmt::format("argument {} : {} has no rows", argument.name, type.ToString()));
    }
    if (rows.empty()) rows = *type.dim(0).name();
    if (*type.dim(0).name() != rows) {
      return no(fmt::format("argument {} : {} does not begin with {}", argument.name,
                            type.ToString(), rows));
    }
    for (int axis = 1; axis < type.rank(); ++axis) {
      if (Names(type.dim(axis), RowNames{rows})) {
        return no(
            fmt::format("argument {} : {} has {} twice", argument.name, type.ToString(), rows));
      }
    }
  }
  for (const FunctionResult& result : function.results) {
    const Type& type = result.type;
    const bool good = type.is_tensor() && type.rank() > 0 && type.dim(0).name() != nullptr &&
                      *type.dim(0).name() == rows;
    if (!good) {
      return no(fmt::format("a result is {}, which does not begin with {}", type.ToString(), rows));
    }
  }
  std::string problem = Check(function, rows).Run();
  if (!problem.empty()) return no(std::move(problem));
  return {std::move(rows), ""};
}

}  // namespace catamaran

#include "catamaran/ir/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/choose_kernel.h"

namespace catamaran {
namespace {

std::string ValueLabel(const Op& op, int i) {
  const Value* v = op.operand(i);
  if (v->def() && v->def()->Is("read")) return "@" + v->def()->states[0];
  if (!v->name.empty()) return v->name;
  // An unnamed operand goes by what the op calls it.
  int k = 0;
  for (const ArgSpec& a : op.def().args) {
    if (a.kind == ArgKind::kVariadic && i >= k) return fmt::format("{}[{}]", a.name, i - k);
    if (a.kind != ArgKind::kValue && a.kind != ArgKind::kOptional) continue;
    if (k == i) return a.name;
    ++k;
  }
  return fmt::format("operand {}", i);
}

}  // namespace

InferContext::InferContext(const Program& program, Function& function, Op& op,
                           Diagnostics& diagnostics)
    : program_(&program), function_(&function), op_(&op), diagnostics_(&diagnostics) {}

const StateDecl* InferContext::state(int i) {
  if (i >= static_cast<int>(op_->states.size())) {
    Fail("needs a state, such as @name");
    return nullptr;
  }
  const StateDecl* decl = program_->items.FindState(op_->states[i]);
  if (!decl) {
    std::vector<std::string_view> names;
    const auto states = program_->States();
    for (const StateDecl* s : states) names.push_back(s->name);
    const std::string near = Suggest(op_->states[i], names);
    Fail(fmt::format("there is no state @{}{}", op_->states[i],
                     near.empty() ? "" : "; did you mean @" + near + "?"));
  }
  return decl;
}

void InferContext::SetResult(int i, Type type) {
  if (i >= op_->num_results()) {
    Fail(fmt::format("has {} results, used as if it had {}", i + 1, op_->num_results()));
    return;
  }
  op_->result(i)->type = std::move(type);
}

bool InferContext::Fail(std::string message) {
  failed_ = true;
  const std::string& shown = op_->Is("call") ? op_->callee : op_->name();
  Diagnostic& d = diagnostics_->Add(op_->at, shown + ": " + std::move(message),
                                    static_cast<uint32_t>(shown.size()));
  // An infix operator is one or two characters wide in the text.
  const std::string_view line = program_->sources().Line(op_->at.file, op_->at.line);
  if (op_->at.column > 0 && op_->at.column <= line.size() &&
      line.substr(op_->at.column - 1, shown.size()) != shown) {
    d.length = 1;
  }
  AddOperandNotes(*op_, *program_, d);
  return false;
}

bool InferContext::WantTensor(int i) {
  if (has(i) && type(i).is_tensor()) return true;
  return Fail(fmt::format("wants a tensor, found {}", has(i) ? type(i).ToString() : "nothing"));
}

bool InferContext::WantRank(int i, int rank) {
  if (!WantTensor(i)) return false;
  if (type(i).rank() == rank) return true;
  return Fail(fmt::format("{} must have {} dimensions, found {}", ValueLabel(*op_, i), rank,
                          type(i).ToString()));
}

bool InferContext::WantMinRank(int i, int rank) {
  if (!WantTensor(i)) return false;
  if (type(i).rank() >= rank) return true;
  return Fail(fmt::format("{} must have at least {} dimensions, found {}", ValueLabel(*op_, i),
                          rank, type(i).ToString()));
}

bool InferContext::WantDType(int i, DType dtype) {
  AdoptLiteral(i, dtype);
  if (has(i) && (type(i).is_tensor() || type(i).is_rows()) && type(i).dtype() == dtype) return true;
  return Fail(fmt::format("{} must be {}, found {}", ValueLabel(*op_, i), Name(dtype),
                          has(i) ? type(i).ToString() : "nothing"));
}

bool InferContext::WantFloat(int i) {
  if (!WantTensor(i)) return false;
  const DType d = type(i).dtype();
  if (d == DType::kF32 || d == DType::kF64) return true;
  if (IsFloat(d)) {
    if (CanWiden(op_->def())) return true;
    return Fail(
        fmt::format("does not compute in {}; cast {} to f32 first", Name(d), ValueLabel(*op_, i)));
  }
  return Fail(fmt::format("{} must be a float, found {}", ValueLabel(*op_, i), type(i).ToString()));
}

bool InferContext::WantIndex(int i) {
  if (!WantTensor(i)) return false;
  if (IsInteger(type(i).dtype())) return true;
  return Fail(fmt::format("{} must be an integer tensor, found {}", ValueLabel(*op_, i),
                          type(i).ToString()));
}

bool InferContext::WantSameDType(int i, int j) {
  if (!WantTensor(i) || !WantTensor(j)) return false;
  if (type(i).dtype() != type(j).dtype()) {
    if (IsLiteral(j)) {
      AdoptLiteral(j, type(i).dtype());
    } else if (IsLiteral(i)) {
      AdoptLiteral(i, type(j).dtype());
    }
  }
  if (type(i).dtype() == type(j).dtype()) return true;
  return Fail(fmt::format("dtypes differ: {} and {}; use cast", Name(type(i).dtype()),
                          Name(type(j).dtype())));
}

bool InferContext::WantDense(int i) {
  if (!has(i) || !type(i).is_ragged()) return true;
  return Fail(fmt::format("does not work on a ragged dimension: {} is {}", ValueLabel(*op_, i),
                          type(i).ToString()));
}

bool InferContext::Unify(const Dim& a, const Dim& b, std::string_view what) {
  Dim::Truth truth;
  try {
    truth = Dim::Equal(a, b);
  } catch (const Error& e) {
    return Fail(e.what());
  }
  switch (truth) {
    case Dim::Truth::kYes:
      return true;
    case Dim::Truth::kNo:
      return Fail(fmt::format("{} differ: {} and {}", what, a.ToString(), b.ToString()));
    case Dim::Truth::kUnknown:
      break;
  }
  for (const DimCheck& c : function_->checks) {
    if (c.left == a && c.right == b) return true;
    if (function_->checks.size() > 1000) break;  // searching more costs more than a second check
  }
  function_->checks.push_back({a, b, op_->at, fmt::format("{}: {}", op_->name(), what)});
  return true;
}

bool InferContext::UnifyTypes(const Type& a, const Type& b, std::string_view what) {
  if (a == b) return true;
  const bool shaped = a.is_tensor() || a.is_rows();
  if (a.kind() != b.kind()) {
    return Fail(fmt::format("{} differ: {} and {}", what, a.ToString(), b.ToString()));
  }
  if (!shaped) return a ? UnifyTypes(a.element(), b.element(), what) : true;
  if (a.dtype() != b.dtype() || a.rank() != b.rank() || a.ragged_axis() != b.ragged_axis()) {
    return Fail(fmt::format("{} differ: {} and {}", what, a.ToString(), b.ToString()));
  }
  for (int k = 0; k < a.rank(); ++k) {
    if (k == a.ragged_axis() && !(a.dim(k) == b.dim(k))) {
      return Fail(fmt::format("{} have different ragged dimensions: *{} and *{}", what,
                              a.dim(k).ToString(), b.dim(k).ToString()));
    }
    if (Dim::Equal(a.dim(k), b.dim(k)) == Dim::Truth::kNo) {
      return Fail(fmt::format("{} differ: {} and {}", what, a.ToString(), b.ToString()));
    }
    if (!Unify(a.dim(k), b.dim(k), what)) return false;
  }
  return true;
}

bool InferContext::Broadcast(const Type& a, const Type& b, std::vector<Dim>* dims,
                             int* ragged_axis) {
  const Type& longer = a.rank() >= b.rank() ? a : b;
  const Type& shorter = a.rank() >= b.rank() ? b : a;
  const int shift = longer.rank() - shorter.rank();
  *ragged_axis = std::max(a.ragged_axis(), b.ragged_axis());
  dims->assign(longer.dims().begin(), longer.dims().end());
  if (*ragged_axis >= 0) {
    const bool both = a.is_ragged() && b.is_ragged();
    if (both && (shift != 0 || a.ragged_name() != b.ragged_name())) {
      return Fail(
          fmt::format("ragged dimensions differ: *{} and *{}", a.ragged_name(), b.ragged_name()));
    }
    // A dense operand may only be as long as the row behind the ragged dimension.
    const Type& ragged = a.is_ragged() ? a : b;
    const Type& dense = a.is_ragged() ? b : a;
    if (!both && dense.rank() > ragged.rank() - ragged.ragged_axis() - 1) {
      return Fail(
          fmt::format("a ragged value broadcasts only with the dimensions behind *{}: {} and {}",
                      ragged.ragged_name(), a.ToString(), b.ToString()));
    }
  }
  for (int k = 0; k < shorter.rank(); ++k) {
    const Dim& x = longer.dim(k + shift);
    const Dim& y = shorter.dim(k);
    const bool one_x = x.is_constant() && x.constant() == 1;
    const bool one_y = y.is_constant() && y.constant() == 1;
    if (one_y) continue;
    if (one_x) {
      (*dims)[k + shift] = y;
    } else if (!Unify(a.rank() >= b.rank() ? x : y, a.rank() >= b.rank() ? y : x, "dimensions")) {
      return false;
    } else if (y.is_constant()) {
      (*dims)[k + shift] = y;
    }
  }
  return true;
}

Dim InferContext::FreshDim() { return Dim::Name(fmt::format("?{}", function_->next_fresh++)); }

bool InferContext::Axis(std::string_view attr, int rank, int* axis) {
  const int64_t given = op_->attr(attr).AsInt();
  const int64_t a = given < 0 ? given + rank : given;
  if (a < 0 || a >= rank) {
    return Fail(fmt::format("{} is {}, but the tensor has {} dimensions", attr, given, rank));
  }
  *axis = static_cast<int>(a);
  return true;
}

bool InferContext::IsLiteral(int i) const {
  if (!has(i)) return false;
  const Value* v = op_->operand(i);
  return v->def() && v->def()->Is("constant") && v->def()->attr("dtype").empty() &&
         v->has_one_use() && v->name.empty();
}

void InferContext::AdoptLiteral(int i, DType dtype) {
  if (!IsLiteral(i)) return;
  Value* v = op_->operand(i);
  const Attr& value = v->def()->attr("value");
  if (value.get<bool>() && dtype != DType::kBool) return;
  if (value.get<double>() && !IsFloat(dtype)) return;
  if (dtype == DType::kBool && !value.get<bool>()) return;
  if (auto* d = value.get<Dim>();
      d && d->constant() < 0 && (dtype == DType::kU64 || dtype == DType::kU8)) {
    return;
  }
  v->type = Type::Scalar(dtype);
}

std::string Origin(const Value& value, const Program& program) {
  if (const Op* op = value.def()) {
    if (op->Is("read")) {
      const StateDecl* decl = program.items.FindState(op->states[0]);
      if (decl) return "declared at " + program.sources().ToString(decl->at);
    }
    const std::string& what = op->Is("call") ? op->callee : op->name();
    return "from " + what + ", " + program.sources().ToString(op->at);
  }
  return "an argument";
}

void AddOperandNotes(const Op& op, const Program& program, Diagnostic& diagnostic) {
  constexpr int kMost = 6;
  for (int i = 0; i < op.num_operands() && i < kMost; ++i) {
    const Value* v = op.operand(i);
    if (!v || !v->type) continue;
    if (v->def() && v->def()->Is("constant")) continue;
    diagnostic.notes.push_back(
        {ValueLabel(op, i), fmt::format("{:<14} {}", v->type.ToString(), Origin(*v, program))});
  }
  for (const std::string& path : op.states) {
    const StateDecl* decl = program.items.FindState(path);
    if (!decl) continue;
    diagnostic.notes.push_back(
        {"@" + path, fmt::format("{:<14} declared at {}", decl->type.ToString(),
                                 program.sources().ToString(decl->at))});
  }
}

std::vector<std::string> BoundDims(const Function& function) {
  std::vector<std::string> names;
  for (int i = 0; i < function.num_params(); ++i) {
    function.param(i)->type.ForEachName([&](const std::string& n) { names.push_back(n); });
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace catamaran

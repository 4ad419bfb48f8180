#include "catamaran/ir/call_binding.h"

#include <fmt/format.h>

namespace catamaran {
namespace {

std::string ParamText(const Function& callee, int i) {
  return fmt::format("argument {} of {}", callee.param(i)->name, callee.name);
}

// Kind, dtype and rank; dimensions follow in two passes, bare names first.
bool CheckKind(InferContext& call, const Function& callee, int i) {
  const Type& want = callee.param(i)->type;
  const Type& found = call.type(i);
  const bool same_kind = want.kind() == found.kind();
  if (same_kind && !want.is_tensor() && !want.is_rows()) {
    if (want.element().kind() == found.element().kind()) return true;
  } else if (same_kind && want.dtype() == found.dtype() && want.rank() == found.rank() &&
             want.ragged_axis() == found.ragged_axis()) {
    return true;
  }
  return call.Fail(
      fmt::format("{} is {}, found {}", ParamText(callee, i), want.ToString(), found.ToString()));
}

std::span<const Dim> DimsOf(const Type& type) {
  if (type.is_tensor() || type.is_rows()) return type.dims();
  return DimsOf(type.element());
}

}  // namespace

std::optional<DimBinding> BindCall(InferContext& call, const Function& callee) {
  if (call.num_operands() != callee.num_params()) {
    call.Fail(fmt::format("{} takes {} arguments, found {}", callee.name, callee.num_params(),
                          call.num_operands()));
    return std::nullopt;
  }
  DimBinding binding;
  for (int i = 0; i < callee.num_params(); ++i) {
    const Type& want = callee.param(i)->type;
    if (want.is_tensor()) call.AdoptLiteral(i, want.dtype());
    if (!CheckKind(call, callee, i)) return std::nullopt;
    const auto wanted = DimsOf(want);
    const Type found_type = call.type(i);
    const auto found = DimsOf(found_type);
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (const std::string* name = wanted[k].name()) binding.try_emplace(*name, found[k]);
    }
  }
  auto replace = [&](const std::string& name) -> std::optional<Dim> {
    auto it = binding.find(name);
    if (it == binding.end()) return std::nullopt;
    return it->second;
  };
  for (int i = 0; i < callee.num_params(); ++i) {
    const auto wanted = DimsOf(callee.param(i)->type);
    const Type found_type = call.type(i);
    const auto found = DimsOf(found_type);
    for (size_t k = 0; k < wanted.size(); ++k) {
      const Dim expected = wanted[k].Substitute(replace);
      if (!call.Unify(expected, found[k],
                      fmt::format("dimension {} of {}", k, ParamText(callee, i)))) {
        return std::nullopt;
      }
    }
  }
  // What the parameters do not bind is the callee's own.
  auto own = [&](const std::string& name) {
    if (!binding.contains(name)) binding.emplace(name, call.FreshDim());
  };
  for (const FunctionResult& r : callee.results) r.type.ForEachName(own);
  return binding;
}

}  // namespace catamaran

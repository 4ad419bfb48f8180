// train/expose_values.cc

#include "catamaran/train/expose_values.h"

#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/flatten.h"

namespace catamaran {
namespace {

Value* FindValue(const Function& f, const std::string& name) {
  std::vector<std::string_view> names;
  for (int i = 0; i < f.num_params(); ++i) {
    if (f.param(i)->name == name) return f.param(i);
    names.push_back(f.param(i)->name);
  }
  for (Op* op = f.body().first(); op != nullptr; op = op->next()) {
    for (int i = 0; i < op->num_results(); ++i) {
      if (op->result(i)->name == name) return op->result(i);
      if (!op->result(i)->name.empty()) names.push_back(op->result(i)->name);
    }
  }
  const std::string near = Suggest(name, names);
  Fail(ErrorCode::kInvalidProgram, "{} has no value {}{}", f.name, name,
       near.empty() ? "" : "; did you mean " + near + "?");
}

bool IsResult(const Function& f, const std::string& name) {
  for (const FunctionResult& result : f.results) {
    if (result.name == name) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Function> ExposeValues(const Program& flat, const Function& f,
                                       std::span<const std::string> fetched,
                                       std::span<const std::string> fed) {
  std::unique_ptr<Function> open = InlineCalls(flat, f);
  for (const std::string& name : fed) {
    Value* value = FindValue(*open, name);
    if (value->def() == nullptr) continue;
    Value* argument = open->body().AddArg(name, value->type);
    open->arg_locations.resize(static_cast<size_t>(open->num_params() - 1), open->at);
    open->arg_locations.push_back(value->def()->at);
    open->order.push_back(false);
    value->ReplaceAllUsesWith(argument);
    value->name.clear();
  }
  Op* end = open->body().terminator();
  std::vector<Value*> results;
  for (int i = 0; i < end->num_operands(); ++i) results.push_back(end->operand(i));
  for (const std::string& name : fetched) {
    if (IsResult(*open, name)) continue;
    Value* value = FindValue(*open, name);
    results.push_back(value);
    open->results.push_back({name, value->type});
  }
  end->SetOperands(results);
  return open;
}

}  // namespace catamaran

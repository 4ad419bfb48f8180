#include "catamaran/transform/wrap_function.h"

namespace catamaran {

Function& BeginWrap(BuildContext& c, const Function& inner) {
  Function& f = c.NewFunction();
  for (int i = 0; i < inner.num_params(); ++i) {
    f.body().AddArg(inner.param(i)->name, inner.param(i)->type);
  }
  f.arg_locations = inner.arg_locations;
  return f;
}

std::vector<Var> CallInner(Emitter& emit, const Function& inner) {
  std::vector<Var> args;
  for (int i = 0; i < emit.function().num_params(); ++i) {
    args.push_back(emit.Wrap(emit.function().param(i)));
  }
  return emit.Call(inner.name, args, static_cast<int>(inner.results.size()));
}

void EndWrap(BuildContext& c, Emitter& emit, const std::vector<Var>& results,
             std::vector<FunctionResult> names) {
  Function& f = emit.function();
  std::vector<Value*> values;
  for (const Var& v : results) values.push_back(v.value());
  auto end = std::make_unique<Op>(emit.ops().Get("return"), f.at);
  end->SetOperands(values);
  f.body().Insert(std::move(end));
  for (size_t i = 0; i < names.size(); ++i) names[i].type = results[i].type();
  f.results = std::move(names);
  f.results_declared = true;
  c.Finish(f);
}

const StateDecl* GradientOf(const Program& program, const FunctionResult& r) {
  if (!r.name.starts_with("@")) return nullptr;
  return program.items.FindState(std::string_view(r.name).substr(1));
}

}  // namespace catamaran

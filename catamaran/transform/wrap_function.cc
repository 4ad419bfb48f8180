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

Function& BeginCopy(BuildContext& c, const Function& inner) {
  const std::unique_ptr<Function> inlined = c.Inlined(inner);
  Function& f = c.NewFunction();
  f.checks = inlined->checks;
  f.next_fresh = inlined->next_fresh;
  ValueMap map;
  for (int i = 0; i < inlined->num_params(); ++i) {
    const Value* p = inlined->param(i);
    map[p] = f.body().AddArg(p->name, p->type);
  }
  f.arg_locations = inlined->arg_locations;
  CloneOpsInto(inlined->body(), f.body(), map);
  f.results = inner.results;
  f.results_declared = true;
  return f;
}

int ReadyResult(const Function& f) {
  for (size_t i = 0; i < f.results.size(); ++i) {
    if (f.results[i].name == kReady && f.results[i].type == Type::Scalar(DType::kBool)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

const StateDecl* GradientOf(const Program& program, const FunctionResult& r) {
  if (!r.name.starts_with("@")) return nullptr;
  return program.items.FindState(std::string_view(r.name).substr(1));
}

}  // namespace catamaran

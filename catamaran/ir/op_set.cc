#include "catamaran/ir/op_set.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/ir/structural_ops.h"

namespace catamaran {
namespace {

// Operands stand before attributes, in whichever order they were added, so that they can be given
// by position.
void AddOperand(OpDef& def, ArgSpec spec) {
  const auto attribute = std::find_if(def.args.begin(), def.args.end(), [](const ArgSpec& arg) {
    return arg.kind == ArgKind::kAttr;
  });
  def.args.insert(attribute, std::move(spec));
}

}  // namespace

const ArgSpec* OpDef::FindArg(std::string_view arg_name) const {
  for (const ArgSpec& a : args) {
    if (a.name == arg_name) return &a;
  }
  return nullptr;
}

int OpDef::num_value_args() const {
  int n = 0;
  for (const ArgSpec& a : args) n += a.kind == ArgKind::kValue || a.kind == ArgKind::kOptional;
  return n;
}

bool OpDef::has_variadic() const {
  for (const ArgSpec& a : args) {
    if (a.kind == ArgKind::kVariadic) return true;
  }
  return false;
}

OpBuilder& OpBuilder::Doc(std::string text) {
  def_->doc = std::move(text);
  return *this;
}
OpBuilder& OpBuilder::Group(std::string text) {
  def_->group = std::move(text);
  return *this;
}
OpBuilder& OpBuilder::Formula(std::string text) {
  def_->formula = std::move(text);
  return *this;
}
OpBuilder& OpBuilder::Example(std::string program) {
  def_->example = std::move(program);
  return *this;
}
OpBuilder& OpBuilder::In(std::string name, std::string doc) {
  CATAMARAN_CHECK(!def_->has_variadic(), "{}: a variadic argument comes last", def_->name);
  AddOperand(*def_, {std::move(name), ArgKind::kValue, std::move(doc), {}, {}, false, {}});
  return *this;
}
OpBuilder& OpBuilder::OptionalIn(std::string name, std::string doc) {
  CATAMARAN_CHECK(!def_->has_variadic(), "{}: a variadic argument comes last", def_->name);
  AddOperand(*def_, {std::move(name), ArgKind::kOptional, std::move(doc), {}, {}, true, {}});
  return *this;
}
OpBuilder& OpBuilder::Label(std::string_view operand, LabelRange range) {
  for (ArgSpec& arg : def_->args) {
    if (arg.name != operand) continue;
    arg.label = range;
    return *this;
  }
  Fail(ErrorCode::kInternal, "{}: no operand {} to take labels", def_->name, operand);
}
OpBuilder& OpBuilder::VariadicIn(std::string name, std::string doc) {
  CATAMARAN_CHECK(!def_->has_variadic(), "{}: one variadic argument at most", def_->name);
  AddOperand(*def_, {std::move(name), ArgKind::kVariadic, std::move(doc), {}, {}, false, {}});
  return *this;
}
OpBuilder& OpBuilder::StateArg(std::string name, std::string doc) {
  AddOperand(*def_, {std::move(name), ArgKind::kState, std::move(doc), {}, {}, false, {}});
  return *this;
}
OpBuilder& OpBuilder::StatesArg(std::string name, std::string doc) {
  AddOperand(*def_, {std::move(name), ArgKind::kStates, std::move(doc), {}, {}, false, {}});
  return *this;
}
OpBuilder& OpBuilder::RequiredAttr(std::string name, AttrKind kind, std::string doc) {
  def_->args.push_back({std::move(name), ArgKind::kAttr, std::move(doc), kind, {}, false, {}});
  return *this;
}
OpBuilder& OpBuilder::WithAttr(std::string name, AttrKind kind, Attr default_value,
                               std::string doc) {
  def_->args.push_back(
      {std::move(name), ArgKind::kAttr, std::move(doc), kind, std::move(default_value), true, {}});
  return *this;
}
OpBuilder& OpBuilder::OptionalAttr(std::string name, AttrKind kind, std::string doc) {
  def_->args.push_back({std::move(name), ArgKind::kAttr, std::move(doc), kind, {}, true, {}});
  return *this;
}
OpBuilder& OpBuilder::WordAttr(std::string name, std::vector<std::string> choices,
                               std::string default_word, std::string doc) {
  Attr default_value = default_word.empty() ? Attr() : Attr::Word(default_word);
  def_->args.push_back({std::move(name), ArgKind::kAttr, std::move(doc), AttrKind::kWord,
                        std::move(default_value), !default_word.empty(), std::move(choices)});
  return *this;
}
OpBuilder& OpBuilder::Results(int count) {
  def_->num_results = count;
  return *this;
}
OpBuilder& OpBuilder::Traits(OpTraits traits) {
  def_->traits = traits;
  return *this;
}
OpBuilder& OpBuilder::Infer(InferFn fn) {
  def_->infer = std::move(fn);
  return *this;
}
OpBuilder& OpBuilder::Grad(GradFn fn) {
  def_->grad = std::move(fn);
  return *this;
}
OpBuilder& OpBuilder::NoGrad(std::string reason) {
  def_->no_grad = std::move(reason);
  return *this;
}
OpBuilder& OpBuilder::StopsGrad() {
  def_->stops_grad = true;
  return *this;
}
OpBuilder& OpBuilder::Sizes(std::string struct_name, SizesFn fn) {
  def_->sizes_struct = std::move(struct_name);
  def_->sizes = std::move(fn);
  return *this;
}
OpBuilder& OpBuilder::Reference(std::string function, KernelFn run) {
  def_->reference = std::move(function);
  Kernel kernel;
  kernel.name = "reference";
  kernel.run = run;
  def_->kernels.push_back(std::move(kernel));
  return *this;
}
OpBuilder& OpBuilder::PrepareEffect(KernelFn prepare) {
  def_->prepare_effect = prepare;
  return *this;
}
OpBuilder& OpBuilder::Fast(Kernel kernel) {
  // The reference, when it was added already, stays last.
  auto end = def_->kernels.end();
  if (!def_->kernels.empty() && def_->kernels.back().name == "reference") --end;
  def_->kernels.insert(end, std::move(kernel));
  return *this;
}
OpBuilder& OpBuilder::TakesHalf() {
  for (Kernel& kernel : def_->kernels) kernel.half = true;
  return *this;
}
OpBuilder& OpBuilder::SizeBound(SizeBoundFn fn) {
  def_->size_bound = std::move(fn);
  return *this;
}
OpBuilder& OpBuilder::Cost(CostFn fn) {
  def_->cost = std::move(fn);
  return *this;
}
OpBuilder& OpBuilder::AddSample(Sample sample) {
  def_->samples.push_back(std::move(sample));
  return *this;
}

OpSet::OpSet() { DefineStructuralOps(*this); }

OpBuilder OpSet::Define(std::string name) {
  auto [it, added] = ops_.try_emplace(name);
  if (!added) Fail(ErrorCode::kInvalidProgram, "the op {} is defined twice", name);
  it->second = std::make_unique<OpDef>();
  it->second->name = std::move(name);
  return OpBuilder(*it->second);
}

const OpDef* OpSet::Find(std::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : it->second.get();
}

const OpDef& OpSet::Get(std::string_view name) const {
  const OpDef* def = Find(name);
  if (!def) Fail(ErrorCode::kInvalidProgram, "there is no op {}", name);
  return *def;
}

std::vector<const OpDef*> OpSet::All() const {
  std::vector<const OpDef*> out;
  for (const auto& [name, def] : ops_) out.push_back(def.get());
  return out;
}

}  // namespace catamaran

#include "catamaran/ir/function_scope.h"

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/op_call.h"
#include "catamaran/ir/type_parser.h"

namespace catamaran {

CallArg::CallArg(const Callable& function) : value_(AttrWord{function.Word()}) {}

AttrCall Call(std::string name, const CallArgs& args) {
  AttrCall call{std::move(name), {}, {}, {}};
  for (const CallArg& arg : args) {
    if (!arg.name().empty()) {
      call.named.push_back({arg.name(), arg.value()});
    } else if (call.named.empty()) {
      call.positional.push_back(arg.value());
    } else {
      Fail("{}: arguments without a name come before those with one", call.name);
    }
  }
  return call;
}

Attr List(const CallArgs& items) {
  Attr::List list;
  for (const CallArg& item : items) list.push_back(item.value());
  return Attr(std::move(list));
}

Callable Callable::Pure() const {
  Callable pure = *this;
  pure.name_ += ".pure";
  return pure;
}

Callable Callable::With(const CallArgs& statics) const {
  Callable out = *this;
  for (const CallArg& arg : statics) {
    if (arg.name().empty()) Fail("{}: a static argument is given by name", name_);
    out.statics_.push_back({arg.name(), arg.value()});
  }
  return out;
}

StateRef Callable::State(std::string_view path) const {
  return StateRef(fmt::format("{}.{}", name_, path), current_);
}

Callable Callable::Fn(std::string_view path) const {
  return Callable(fmt::format("{}.{}", name_, path), current_);
}

std::string Callable::Word() const {
  if (statics_.empty()) return name_;
  std::string inside;
  for (const NamedAttr& a : statics_) {
    inside += (inside.empty() ? "" : ", ") + a.name + "=" + a.value.ToString();
  }
  return name_ + "[" + inside + "]";
}

std::vector<Var> Callable::Many(int num_results, const std::vector<OperandArg>& operands,
                                std::source_location where) const {
  Emitter* emitter = *current_;
  for (const OperandArg& operand : operands) {
    if (operand.var) {
      emitter = operand.var.emitter();
      break;
    }
  }
  if (!emitter) {
    Fail("{}:{}: {} is called outside a function", where.file_name(), where.line(), name_);
  }
  std::vector<Var> values;
  for (const OperandArg& operand : operands) values.push_back(operand.In(*emitter));
  return emitter->Call(name_, values, num_results, statics_, where);
}

FunctionScope::FunctionScope(std::shared_ptr<Emitter> emitter, std::shared_ptr<Emitter*> current)
    : Callable(emitter->function().name, current),
      emitter_(std::move(emitter)),
      current_(std::move(current)) {}

void FunctionScope::FailAt(std::source_location where, std::string message) const {
  throw ProgramError({Diagnostic{At(where), 1, std::move(message), {}}},
                     emitter_->program().sources());
}

Var FunctionScope::Param(std::string name, std::string_view type,
                         std::source_location where) const {
  Function& f = function();
  if (!f.body().empty()) FailAt(where, fmt::format("the parameter {} comes after an op", name));
  try {
    Value* value = f.body().AddArg(name, ParseType(type, &f.next_fresh));
    f.order.push_back(false);
    f.arg_locations.push_back(At(where));
    return emitter_->Wrap(value);
  } catch (const Error& e) {
    FailAt(where, fmt::format("the type of {}: {}", name, e.what()));
  }
}

StaticRef FunctionScope::Static(std::string name, StaticKind kind, CallArg default_value,
                                std::source_location where) const {
  function().statics.push_back({name, kind, default_value.value(), "", At(where)});
  function().order.push_back(true);
  return StaticRef(std::move(name), kind);
}

void FunctionScope::Result(std::string_view type, std::string name,
                           std::source_location where) const {
  try {
    function().results.push_back({std::move(name), ParseType(type, &function().next_fresh)});
  } catch (const Error& e) {
    FailAt(where, fmt::format("the type of a result: {}", e.what()));
  }
  function().results_declared = true;
}

std::vector<Var> FunctionScope::EmitMany(std::string_view op, int num_results,
                                         const std::vector<OperandArg>& args, const CallArgs& attrs,
                                         std::source_location where) const {
  const OpDef* def = emitter_->ops().Find(op);
  if (!def) {
    std::vector<std::string_view> names;
    for (const OpDef* d : emitter_->ops().All()) names.push_back(d->name);
    const std::string near = Suggest(op, names);
    FailAt(where, fmt::format("unknown op '{}'{}", op,
                              near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  OpCall call(op, where);
  call.To(*emitter_);
  size_t next = 0;
  for (const ArgSpec& spec : def->args) {
    const auto state = [&](const OperandArg& arg) {
      if (!arg.state) FailAt(where, fmt::format("{}: {} wants a state", op, spec.name));
      call.State(*arg.state);
    };
    switch (spec.kind) {
      case ArgKind::kValue:
        if (next == args.size()) {
          FailAt(where, fmt::format("{}: the argument {} is missing", op, spec.name));
        }
        call.In(args[next++]);
        break;
      case ArgKind::kState:
        if (next == args.size()) {
          FailAt(where, fmt::format("{}: the argument {} is missing", op, spec.name));
        }
        state(args[next++]);
        break;
      case ArgKind::kStates:
        while (next < args.size() && args[next].state) state(args[next++]);
        break;
      case ArgKind::kVariadic:
        while (next < args.size()) call.In(args[next++]);
        break;
      case ArgKind::kOptional: {
        // The last arguments by position may fill the optional ones; an empty Var leaves one out.
        std::optional<OperandArg> given;
        if (next < args.size()) given = args[next++];
        call.OptionalIn(given);
        break;
      }
      case ArgKind::kAttr:
        break;
    }
  }
  if (next < args.size()) {
    FailAt(where,
           fmt::format("{} takes {} values and states; {} are given", op, next, args.size()));
  }
  for (const CallArg& attr : attrs) {
    const ArgSpec* spec = def->FindArg(attr.name());
    if (!def->traits.open_attrs && (!spec || spec->kind != ArgKind::kAttr)) {
      FailAt(where, fmt::format("{} has no attribute '{}'", op, attr.name()));
    }
    // A text stands for the word of that name where the op wants a word.
    const std::string* text = attr.value().get<std::string>();
    const bool word = text && spec && spec->attr == AttrKind::kWord;
    call.Set(attr.name(), word ? Attr::Word(*text) : attr.value());
  }
  return call.Results(def->num_results >= 0 ? def->num_results : num_results);
}

Var FunctionScope::Emit(std::string_view op, const std::vector<OperandArg>& args,
                        const CallArgs& attrs, std::source_location where) const {
  const std::vector<Var> results = EmitMany(op, 1, args, attrs, where);
  if (results.size() != 1) {
    FailAt(where, fmt::format("{} yields {} values; one is wanted here", op, results.size()));
  }
  return results[0];
}

void FunctionScope::Effect(std::string_view op, const std::vector<OperandArg>& args,
                           const CallArgs& attrs, std::source_location where) const {
  EmitMany(op, 0, args, attrs, where);
}

Var FunctionScope::Constant(Attr value, std::source_location where) const {
  return emitter_->Constant(std::move(value), where);
}

Var FunctionScope::Constant(Attr value, DType dtype, std::source_location where) const {
  return emitter_->Constant(std::move(value), dtype, where);
}

Var FunctionScope::Read(const StateRef& state, std::source_location where) const {
  return emitter_->Read(state.path(), where);
}

Var FunctionScope::Size(std::string_view dim, std::source_location where) const {
  try {
    return emitter_->DimValue(ParseDim(dim), where);
  } catch (const Error& e) {
    FailAt(where, e.what());
  }
}

Var FunctionScope::Key(std::source_location where) const {
  return emitter_->Emit("key", {}, {}, where);
}

size_t FunctionScope::Fill(Block& block, const Values& write, std::source_location where) const {
  Block& outer = emitter_->block();
  Op* before = emitter_->before();
  emitter_->SetInsertionPoint(block);
  std::vector<Var> yields;
  try {
    yields = write();
    emitter_->EmitMany("yield", yields, 0, {}, where);
  } catch (...) {
    emitter_->SetInsertionPoint(outer, before);
    throw;
  }
  emitter_->SetInsertionPoint(outer, before);
  return yields.size();
}

namespace {

std::vector<Var> ResultsOf(Emitter& emitter, const Op& op) {
  std::vector<Var> out;
  for (int i = 0; i < op.num_results(); ++i) out.push_back(emitter.Wrap(op.result(i)));
  return out;
}

std::vector<Var> AddArgs(Emitter& emitter, Block& block, const std::vector<Carry>& carried) {
  std::vector<Var> out;
  for (const Carry& carry : carried) out.push_back(emitter.Wrap(block.AddArg(carry.name)));
  return out;
}

}  // namespace

std::vector<Var> FunctionScope::EmitIf(const OperandArg& condition, const Values& then,
                                       const Values& otherwise, std::source_location where) const {
  const Var test = condition.In(*emitter_);
  Op* op = emitter_->EmitOp(emitter_->ops().Get("if"), {{test.value()}, {}, {}, {}, 0}, At(where));
  const size_t yielded = Fill(*op->AddBlock(), then, where);
  if (Fill(*op->AddBlock(), otherwise, where) != yielded) {
    FailAt(where, "the branches of If yield different numbers of values");
  }
  for (size_t i = 0; i < yielded; ++i) op->AddResult();
  return ResultsOf(*emitter_, *op);
}

std::vector<Var> FunctionScope::EmitFor(
    const OperandArg& begin, const OperandArg& end, const std::vector<Carry>& carried,
    const std::function<std::vector<Var>(Var, std::vector<Var>)>& body,
    std::source_location where) const {
  std::vector<Value*> operands = {begin.In(*emitter_).value(), end.In(*emitter_).value()};
  for (const Carry& carry : carried) operands.push_back(carry.init.In(*emitter_).value());
  Op* op = emitter_->EmitOp(emitter_->ops().Get("for"),
                            {operands, {}, {}, {}, static_cast<int>(carried.size())}, At(where));
  Block& block = *op->AddBlock();
  const Var i = emitter_->Wrap(block.AddArg(""));
  const std::vector<Var> args = AddArgs(*emitter_, block, carried);
  if (Fill(
          block, [&] { return body(i, args); }, where) != carried.size()) {
    FailAt(where, "the body of For must return as many values as are carried");
  }
  return ResultsOf(*emitter_, *op);
}

std::vector<Var> FunctionScope::EmitWhile(
    const std::vector<Carry>& carried, const std::function<Var(std::vector<Var>)>& condition,
    const std::function<std::vector<Var>(std::vector<Var>)>& body,
    std::source_location where) const {
  std::vector<Value*> operands;
  for (const Carry& carry : carried) operands.push_back(carry.init.In(*emitter_).value());
  Op* op = emitter_->EmitOp(emitter_->ops().Get("while"),
                            {operands, {}, {}, {}, static_cast<int>(carried.size())}, At(where));
  Block& test = *op->AddBlock();
  const std::vector<Var> test_args = AddArgs(*emitter_, test, carried);
  Fill(
      test, [&] { return std::vector<Var>{condition(test_args)}; }, where);
  Block& block = *op->AddBlock();
  const std::vector<Var> args = AddArgs(*emitter_, block, carried);
  if (Fill(
          block, [&] { return body(args); }, where) != carried.size()) {
    FailAt(where, "the body of While must return as many values as are carried");
  }
  return ResultsOf(*emitter_, *op);
}

void FunctionScope::ReturnAll(const std::vector<OperandArg>& values,
                              std::source_location where) const {
  Function& f = function();
  if (f.body().terminator()) FailAt(where, fmt::format("{} has returned already", f.name));
  if (&emitter_->block() != &f.body()) {
    FailAt(where,
           "Return cannot leave a function from inside a loop or branch; yield the value out");
  }
  if (f.results_declared && f.results.size() != values.size()) {
    FailAt(where, fmt::format("{} returns {} values here and declares {}", f.name, values.size(),
                              f.results.size()));
  }
  std::vector<Var> operands;
  for (const OperandArg& value : values) operands.push_back(value.In(*emitter_));
  emitter_->SetInsertionPoint(f.body());  // after the commit region
  emitter_->EmitMany("return", operands, 0, {}, where);
  if (*current_ == emitter_.get()) *current_ = nullptr;
}

}  // namespace catamaran

// Calls: what a name stands for, and which argument goes where.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/ir/text_parser.h"

namespace catamaran::text {

std::string Signature(const OpDef& op) {
  std::string out = op.name + "(";
  bool first = true;
  for (const ArgSpec& arg : op.args) {
    if (!first) out += ", ";
    first = false;
    const bool optional =
        arg.kind == ArgKind::kOptional || (arg.kind == ArgKind::kAttr && arg.optional);
    if (arg.kind == ArgKind::kState || arg.kind == ArgKind::kStates) out += "@";
    out += arg.name;
    if (arg.kind == ArgKind::kVariadic || arg.kind == ArgKind::kStates) out += "…";
    if (!arg.default_value.empty()) {
      out += "=" + arg.default_value.ToString();
    } else if (optional) {
      out += "=…";
    }
  }
  return out + ")";
}

std::string Signature(const std::string& name, const std::vector<StaticParam>& params) {
  std::string out = name + "(";
  for (size_t i = 0; i < params.size(); ++i) {
    if (i > 0) out += ", ";
    out += params[i].name + ": " + std::string(StaticKindName(params[i].kind));
    if (!params[i].default_value.empty()) out += " = " + params[i].default_value.ToString();
  }
  return out + ")";
}

std::string Signature(const std::string& name, const Function& function) {
  std::string out = name + "(";
  int value = 0, fixed = 0;
  for (size_t i = 0; i < function.order.size(); ++i) {
    if (i > 0) out += ", ";
    if (function.order[i]) {
      const StaticParam& p = function.statics[fixed++];
      out += p.name + ": static " + std::string(StaticKindName(p.kind));
      if (!p.default_value.empty()) out += " = " + p.default_value.ToString();
    } else {
      const Value& v = *function.param(value++);
      out += v.name + ": " + v.type.ToString();
    }
  }
  return out + ")";
}

const Function* TextParser::InstanceSignature(const Items& items, const Instance& instance) const {
  if (const BuilderDecl* b = items.FindBuilder(instance.call.name)) {
    return b->items.FindFunction("");
  }
  bool ours = false;  // builders of an imported program are not ours to look up
  for (const ItemScope* s = scope_; s; s = s->outer) ours = ours || s->items == &items;
  for (const ItemScope* s = scope_; s && ours; s = s->outer) {
    if (const BuilderDecl* b = s->items->FindBuilder(instance.call.name)) {
      return b->items.FindFunction("");
    }
  }
  return nullptr;
}

// A path within one list of items: f, f.pure, instance, instance.anything, import.path.
bool TextParser::ResolveIn(const Items& items, std::string_view name, Callee* callee) const {
  if (const Function* f = items.FindFunction(name)) {
    callee->signature = f;
    return true;
  }
  if (const Instance* i = items.FindInstance(name)) {
    callee->signature = InstanceSignature(items, *i);
    return true;
  }
  constexpr std::string_view kPure = ".pure";
  if (name.size() > kPure.size() && name.ends_with(kPure)) {
    const std::string_view base = name.substr(0, name.size() - kPure.size());
    if (const Function* f = items.FindFunction(base)) {
      callee->signature = f;
      return true;
    }
    if (const Instance* i = items.FindInstance(base)) {
      callee->signature = InstanceSignature(items, *i);
      return true;
    }
  }
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view first = name.substr(0, dot);
  if (items.FindInstance(first)) return true;
  const Import* import = items.FindImport(first);
  if (!import) return false;
  return ResolveIn(import->program->items, name.substr(dot + 1), callee);
}

bool TextParser::ResolveCallee(std::string_view name, Callee* callee) {
  callee->name = name;
  if (function_ && !function_->name.empty()) {
    const std::string& self = function_->name;
    if (name == self ||
        (name.size() == self.size() + 5 && name.starts_with(self) && name.ends_with(".pure"))) {
      FailAt(callee->at, fmt::format("{} calls itself; recursion is not supported", self));
    }
  }
  const std::string_view first = name.substr(0, name.find('.'));
  if (first == "op" && first.size() < name.size()) {
    callee->op = session_.ops->Find(name.substr(3));
    return callee->op != nullptr;
  }
  if (const StaticParam* p = FindStatic(name); p && p->kind == StaticKind::kFunction) return true;
  for (const ItemScope* s = scope_; s; s = s->outer) {
    if (ResolveIn(*s->items, name, callee)) return true;
    if (s->poisoned.count(std::string(first))) throw ParseFailed{};
    if (s->items->FindBuilder(name)) {
      FailAt(callee->at,
             fmt::format("{} is a builder; instances are made outside functions: name = {}(…)",
                         name, name));
    }
    if (const Import* import = s->items->FindImport(first)) {
      if (first.size() == name.size()) {
        FailAt(callee->at,
               fmt::format("{} is an import; call a function of it: {}.NAME(…)", name, name));
      }
      std::vector<std::string_view> names;
      for (const Item& item : import->program->items.list()) {
        if (auto* f = std::get_if<std::unique_ptr<Function>>(&item)) names.push_back((*f)->name);
        if (auto* i = std::get_if<std::unique_ptr<Instance>>(&item)) names.push_back((*i)->name);
      }
      const std::string_view rest = name.substr(first.size() + 1);
      FailAt(
          callee->at,
          fmt::format("the import {} has no function '{}'{}", first, rest, DidYouMean(rest, names)),
          "imported from " + import->path);
    }
  }
  callee->op = session_.ops->Find(name);
  return callee->op != nullptr;
}

void TextParser::FailUnknownCallee(const Token& at, std::string_view name) {
  if (session_.builders->Find(name)) {
    FailAt(at, fmt::format("{} is a builder; instances are made outside functions: name = {}(…)",
                           name, name));
  }
  if (values_.Find(name)) {
    FailAt(at, fmt::format("'{}' is a value and cannot be called", name));
  }
  std::vector<std::string_view> names;
  for (const ItemScope* s = scope_; s; s = s->outer) {
    for (const Item& item : s->items->list()) {
      if (auto* f = std::get_if<std::unique_ptr<Function>>(&item)) names.push_back((*f)->name);
      if (auto* i = std::get_if<std::unique_ptr<Instance>>(&item)) names.push_back((*i)->name);
    }
  }
  for (const OpDef* def : session_.ops->All()) names.push_back(def->name);
  std::string note;
  if (auto line = FindLaterDefinition(name.substr(0, name.find('.')))) {
    note = fmt::format("it is defined later, at {}; a program reads from top to bottom",
                       WhereLine(*line));
    FailAt(at, fmt::format("{} is used before it is defined", name), note);
  }
  FailAt(at, fmt::format("unknown name '{}'{}", name, DidYouMean(name, names)));
}

Callee TextParser::ParseCallee() {
  Callee callee;
  callee.at = cur_;
  std::string name(cur_.text);
  Advance();
  if (Is(TokenKind::kLeftBracket) && !cur_.newline_before) {
    // A flat program defines functions under such names.
    const Cursor here = Save();
    const char* const begin = callee.at.text.data();
    const char* const end = SkipNameSuffixes(begin + callee.at.text.size());
    const std::string full(begin, end);
    if (function_ && function_->name == full) {
      FailAt(callee.at, fmt::format("{} calls itself; recursion is not supported", full));
    }
    for (const ItemScope* s = scope_; s; s = s->outer) {
      if (const Function* f = s->items->FindFunction(full)) {
        callee.name = full;
        callee.signature = f;
        return callee;
      }
    }
    Restore(here);
    if (!ResolveCallee(name, &callee)) FailUnknownCallee(callee.at, name);
    if (callee.op) FailAt(cur_, fmt::format("{} is an op; it has no static arguments", name));
    callee.statics = ParseSpecialisation(callee.signature);
    if (Is(TokenKind::kSuffix) && !cur_.newline_before) {
      name += "." + std::string(cur_.text);
      Advance();
      if (!ResolveCallee(name, &callee)) FailUnknownCallee(callee.at, name);
    }
    return callee;
  }
  if (!ResolveCallee(name, &callee)) FailUnknownCallee(callee.at, name);
  return callee;
}

std::vector<NamedAttr> TextParser::ParseSpecialisation(const Function* signature) {
  std::vector<NamedAttr> attrs;
  Expect(TokenKind::kLeftBracket, "'['");
  ++brackets_;
  while (!Is(TokenKind::kRightBracket)) {
    const Token name = Expect(TokenKind::kName, "a static argument (name=value)");
    if (!FindAttr(attrs, name.text).empty()) {
      FailAt(name, fmt::format("the argument {} is given twice", name.text));
    }
    Expect(TokenKind::kAssign, fmt::format("'=' after {}", name.text));
    StaticKind kind = StaticKind::kAny;
    if (signature) {
      const StaticParam* param = nullptr;
      std::vector<std::string_view> names;
      for (const StaticParam& p : signature->statics) {
        names.push_back(p.name);
        if (p.name == name.text) param = &p;
      }
      if (!param) {
        FailAt(name, fmt::format("there is no static argument '{}'{}", name.text,
                                 DidYouMean(name.text, names)));
      }
      kind = param->kind;
    }
    Attr value = ParseStatic(kind);
    attrs.push_back({std::string(name.text), std::move(value)});
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightBracket, "',' or ']' in the static arguments");
  --brackets_;
  return attrs;
}

Op* TextParser::ParseCall(int num_results) {
  Nesting nesting(*this);
  const bool in_commit = std::exchange(in_commit_, false);
  Callee callee = ParseCallee();
  const bool effect = callee.op && callee.op->traits.effect;
  if (in_commit && !effect) {
    FailAt(callee.at, fmt::format("{} is no effect; a commit region holds only effects (guard, "
                                  "write, update, push, observe, send)",
                                  callee.at.text));
  }
  if (effect) {
    if (num_results > 0) {
      FailAt(callee.at, fmt::format("{} is an effect and yields no value; it stands alone on its "
                                    "line",
                                    callee.op->name));
    }
    if (nested_in_) {
      FailAt(
          callee.at,
          fmt::format("{} is an effect and cannot stand in '{}'", callee.op->name, nested_in_),
          fmt::format("yield the value out of the {} and write the effect after it", nested_in_));
    }
  }
  if (callee.op &&
      (callee.op->name == "call" || callee.op->name == "commit" || callee.op->traits.terminator)) {
    FailAt(callee.at,
           fmt::format("{} is part of the language and not called by name", callee.op->name));
  }
  if (!Is(TokenKind::kLeftParen) || !Continues()) {
    FailAt(callee.at, fmt::format("expected '(' and the arguments of {}", callee.at.text));
  }
  Advance();
  ++brackets_;
  Op* op = callee.op          ? ParseOpArguments(callee, num_results)
           : callee.signature ? ParseFunctionArguments(callee, num_results)
                              : ParseOpaqueArguments(callee, num_results);
  in_commit_ = in_commit;
  return op;
}

Op* TextParser::ParseOpArguments(const Callee& callee, int num_results) {
  const OpDef& def = *callee.op;
  const std::vector<ArgSpec>& specs = def.args;
  const size_t count = specs.size();
  SmallVector<Value*, 6> fixed;  // by value argument
  SmallVector<Value*, 6> variadic;
  SmallVector<int, 8> slot;  // of each argument among the fixed ones, or -1
  SmallVector<bool, 8> given;
  int num_fixed = 0;
  bool takes_many = false;
  for (const ArgSpec& spec : specs) {
    takes_many |= spec.kind == ArgKind::kVariadic;
    const bool value = spec.kind == ArgKind::kValue || spec.kind == ArgKind::kOptional;
    slot.push_back(value ? num_fixed++ : -1);
    given.push_back(false);
  }
  for (int i = 0; i < num_fixed; ++i) fixed.push_back(nullptr);
  std::vector<NamedAttr> attrs;
  std::vector<std::pair<size_t, std::string>> states;

  auto read = [&](size_t i) {
    const ArgSpec& spec = specs[i];
    given[i] = true;
    switch (spec.kind) {
      case ArgKind::kValue:
      case ArgKind::kOptional: {
        Value* value = ParseExpr();
        fixed[slot[i]] = value;
        break;
      }
      case ArgKind::kVariadic:
        variadic.push_back(ParseExpr());
        break;
      case ArgKind::kState:
      case ArgKind::kStates:
        if (spec.kind == ArgKind::kStates && Is(TokenKind::kLeftBracket)) {
          Advance();
          while (!Is(TokenKind::kRightBracket)) {
            if (!Is(TokenKind::kState)) {
              FailAt(cur_, fmt::format("expected a state (@name), found {}", Describe(cur_)));
            }
            const Token at = cur_;
            states.emplace_back(i, StatePath(at));
            if (!Accept(TokenKind::kComma)) break;
          }
          Expect(TokenKind::kRightBracket, "',' or ']' in the states");
          break;
        }
        if (!Is(TokenKind::kState)) {
          FailAt(cur_,
                 fmt::format("{}: {} wants a state (@name), found {}", def.name, spec.name,
                             Describe(cur_)),
                 Signature(def));
        }
        {
          const Token at = cur_;
          states.emplace_back(i, StatePath(at));
        }
        break;
      case ArgKind::kAttr:
        attrs.push_back(
            {spec.name, ParseAttr(spec.attr, spec.choices.empty() ? nullptr : &spec.choices)});
        break;
    }
  };

  size_t position = 0;
  while (!Is(TokenKind::kRightParen)) {
    if (Is(TokenKind::kName) && next_.Is(TokenKind::kAssign)) {
      const Token name = cur_;
      size_t i = 0;
      while (i < count && specs[i].name != name.text) ++i;
      if (i == count && !def.traits.open_attrs) {
        std::vector<std::string_view> names;
        for (const ArgSpec& s : specs) names.push_back(s.name);
        FailAt(name,
               fmt::format("{} has no argument '{}'{}", def.name, name.text,
                           DidYouMean(name.text, names)),
               Signature(def));
      }
      const bool twice = i < count ? given[i] : !FindAttr(attrs, name.text).empty();
      if (twice) {
        FailAt(name, fmt::format("{}: the argument {} is given twice", def.name, name.text),
               Signature(def));
      }
      Advance();
      Advance();
      if (i < count) {
        if (specs[i].kind == ArgKind::kVariadic) {
          FailAt(name, fmt::format("{}: {} are given by position", def.name, specs[i].name),
                 Signature(def));
        }
        read(i);
      } else {
        Attr value = ParseAnyAttr();
        attrs.push_back({std::string(name.text), std::move(value)});
      }
    } else {
      // Optional operands are given by name only, and so are the constants of an op that takes
      // any number of values.
      while (position < count && (specs[position].kind == ArgKind::kOptional ||
                                  (takes_many && specs[position].kind == ArgKind::kAttr) ||
                                  (specs[position].kind == ArgKind::kStates &&
                                   !Is(TokenKind::kState) && !Is(TokenKind::kLeftBracket)) ||
                                  (given[position] && specs[position].kind != ArgKind::kVariadic &&
                                   specs[position].kind != ArgKind::kStates))) {
        ++position;
      }
      if (position >= count) {
        const size_t most =
            static_cast<size_t>(std::count_if(specs.begin(), specs.end(), [](const ArgSpec& s) {
              return s.kind != ArgKind::kOptional;
            }));
        FailAt(cur_,
               fmt::format("{} takes at most {} argument{} without a name", def.name, most,
                           most == 1 ? "" : "s"),
               Signature(def));
      }
      const bool whole_list =
          specs[position].kind == ArgKind::kStates && Is(TokenKind::kLeftBracket);
      read(position);
      if (whole_list) ++position;
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, fmt::format("',' or ')' in the arguments of {}", def.name));
  --brackets_;
  for (size_t i = 0; i < count; ++i) {
    const ArgSpec& spec = specs[i];
    const bool required =
        spec.kind == ArgKind::kValue || spec.kind == ArgKind::kState ||
        (spec.kind == ArgKind::kAttr && !spec.optional && spec.default_value.empty());
    if (required && !given[i]) {
      FailAt(callee.at, fmt::format("{}: the argument {} is missing", def.name, spec.name),
             Signature(def));
    }
  }
  // As the emitter: optional operands at the end that are not given leave no trace.
  if (variadic.empty()) {
    while (!fixed.empty() && fixed.back() == nullptr) fixed.pop_back();
  }
  for (Value* v : variadic) fixed.push_back(v);

  int results = def.num_results < 0 ? num_results : def.num_results;
  if (def.traits.effect) {
    if (!commit_) {
      commit_ = std::make_unique<Op>(session_.ops->Get("commit"), At(callee.at));
      commit_->AddBlock();
    }
  }
  Block* const body = block_;
  if (def.traits.effect) block_ = commit_->blocks[0].get();
  Op* op = Emit(def, callee.at, {fixed.data(), fixed.size()}, results);
  block_ = body;
  op->attrs = std::move(attrs);
  if (states.size() > 1) {
    std::stable_sort(states.begin(), states.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  for (auto& [i, path] : states) op->states.push_back(std::move(path));
  return op;
}

Op* TextParser::ParseFunctionArguments(Callee& callee, int num_results) {
  const Function& f = *callee.signature;
  const size_t count = f.order.size();
  std::vector<Value*> operands(f.num_params());
  std::vector<NamedAttr> attrs = std::move(callee.statics);
  std::vector<bool> given(count);
  std::vector<int> index(count);  // among the values or among the statics
  for (size_t i = 0, values = 0, statics = 0; i < count; ++i) {
    index[i] = static_cast<int>(f.order[i] ? statics++ : values++);
    if (f.order[i] && !FindAttr(attrs, f.statics[index[i]].name).empty()) given[i] = true;
  }
  auto name_of = [&](size_t i) -> const std::string& {
    return f.order[i] ? f.statics[index[i]].name : f.param(index[i])->name;
  };
  auto read = [&](size_t i) {
    given[i] = true;
    if (f.order[i]) {
      Attr value = ParseStatic(f.statics[index[i]].kind);
      attrs.push_back({name_of(i), std::move(value)});
    } else {
      operands[index[i]] = ParseExpr();
    }
  };
  size_t position = 0;
  while (!Is(TokenKind::kRightParen)) {
    if (Is(TokenKind::kName) && next_.Is(TokenKind::kAssign)) {
      const Token name = cur_;
      size_t i = 0;
      while (i < count && name_of(i) != name.text) ++i;
      if (i == count) {
        std::vector<std::string_view> names;
        for (size_t j = 0; j < count; ++j) names.push_back(name_of(j));
        FailAt(name,
               fmt::format("{} has no argument '{}'{}", callee.name, name.text,
                           DidYouMean(name.text, names)),
               Signature(callee.name, f));
      }
      if (given[i]) {
        FailAt(name, fmt::format("{}: the argument {} is given twice", callee.name, name.text),
               Signature(callee.name, f));
      }
      Advance();
      Advance();
      read(i);
    } else {
      // Static arguments have names, so that a call reads the same wherever they were declared.
      while (position < count && (given[position] || f.order[position])) ++position;
      if (position >= count) {
        FailAt(cur_,
               fmt::format("{} takes {} value{}{}", callee.name, f.num_params(),
                           f.num_params() == 1 ? "" : "s",
                           f.statics.empty() ? "" : "; static arguments are given by name"),
               Signature(callee.name, f));
      }
      read(position);
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, fmt::format("',' or ')' in the arguments of {}", callee.name));
  --brackets_;
  for (size_t i = 0; i < count; ++i) {
    if (given[i] || (f.order[i] && !f.statics[index[i]].default_value.empty())) continue;
    FailAt(callee.at, fmt::format("{}: the argument {} is missing", callee.name, name_of(i)),
           Signature(callee.name, f));
  }
  const int yields = f.results_declared ? static_cast<int>(f.results.size())
                     : session_.diagnostics.empty() && f.body().terminator()
                         ? f.body().terminator()->num_operands()
                         : num_results;
  if (num_results > 0 && yields != num_results) {
    FailAt(callee.at,
           fmt::format("{} returns {} value{}; {} {} wanted here", callee.name, yields,
                       yields == 1 ? "" : "s", num_results, num_results == 1 ? "is" : "are"),
           fmt::format("defined at {}", Where(f.at)));
  }
  Op* op = Emit(session_.ops->Get("call"), callee.at, operands, num_results);
  op->callee = std::move(callee.name);
  op->attrs = std::move(attrs);
  return op;
}

// The signature is known when the instance is expanded: values by position, constants by name.
Op* TextParser::ParseOpaqueArguments(Callee& callee, int num_results) {
  SmallVector<Value*, 6> operands;
  std::vector<NamedAttr> attrs = std::move(callee.statics);
  while (!Is(TokenKind::kRightParen)) {
    if (Is(TokenKind::kName) && next_.Is(TokenKind::kAssign)) {
      const Token name = cur_;
      Advance();
      Advance();
      if (!FindAttr(attrs, name.text).empty()) {
        FailAt(name, fmt::format("{}: the argument {} is given twice", callee.name, name.text));
      }
      if (Is(TokenKind::kName) && values_.Find(cur_.text) && !FindStatic(cur_.text)) {
        FailAt(name,
               fmt::format("{}: values are given by position, constants by name", callee.name));
      }
      Attr value = ParseAnyAttr();
      attrs.push_back({std::string(name.text), std::move(value)});
    } else {
      operands.push_back(ParseExpr());
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, fmt::format("',' or ')' in the arguments of {}", callee.name));
  --brackets_;
  Op* op =
      Emit(session_.ops->Get("call"), callee.at, {operands.data(), operands.size()}, num_results);
  op->callee = std::move(callee.name);
  op->attrs = std::move(attrs);
  return op;
}

}  // namespace catamaran::text

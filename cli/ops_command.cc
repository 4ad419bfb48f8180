// catamaran ops [NAME]

#include <map>

#include "catamaran/base/suggest.h"
#include "catamaran/ir/op_set.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

std::string FirstSentence(const std::string& text) {
  const size_t end = text.find(". ");
  return end == text.npos ? text : text.substr(0, end + 1);
}

std::string Signature(const OpDef& def) {
  std::string text = def.name + "(";
  bool first = true;
  for (const ArgSpec& arg : def.args) {
    if (!first) text += ", ";
    first = false;
    switch (arg.kind) {
      case ArgKind::kValue:
        text += arg.name;
        break;
      case ArgKind::kOptional:
        text += arg.name + "=…";
        break;
      case ArgKind::kVariadic:
        text += arg.name + "…";
        break;
      case ArgKind::kState:
        text += "@" + arg.name;
        break;
      case ArgKind::kStates:
        text += "@" + arg.name + "…";
        break;
      case ArgKind::kAttr:
        text += arg.name + "=";
        text += arg.default_value.empty() ? "…" : arg.default_value.ToString();
        break;
    }
  }
  return text + ")";
}

std::string_view AttrKindText(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt:
      return "an integer or dimension";
    case AttrKind::kFloat:
      return "a number";
    case AttrKind::kBool:
      return "true or false";
    case AttrKind::kString:
      return "a string";
    case AttrKind::kWord:
      return "one of";
    case AttrKind::kDType:
      return "an element type";
    case AttrKind::kInts:
      return "a list of integers or dimensions";
    case AttrKind::kAny:
      break;
  }
  return "a constant";
}

std::string ArgText(const ArgSpec& arg) {
  std::string text;
  switch (arg.kind) {
    case ArgKind::kValue:
      text = "a value";
      break;
    case ArgKind::kOptional:
      text = "a value; may be left out";
      break;
    case ArgKind::kVariadic:
      text = "any number of values";
      break;
    case ArgKind::kState:
      text = "a state";
      break;
    case ArgKind::kStates:
      text = "any number of states";
      break;
    case ArgKind::kAttr:
      text = AttrKindText(arg.attr);
      for (size_t i = 0; i < arg.choices.size(); ++i) {
        text += (i == 0 ? " " : ", ") + arg.choices[i];
      }
      if (!arg.default_value.empty()) {
        text += "; " + arg.default_value.ToString() + " unless given";
      } else {
        text += arg.optional ? "; may be left out" : "; required";
      }
      break;
  }
  return arg.doc.empty() ? text : text + ". " + arg.doc;
}

std::string GradientText(const OpDef& def) {
  if (def.grad) return "yes";
  if (def.stops_grad) return "zero: nothing flows back";
  if (!def.no_grad.empty()) return "no: " + def.no_grad;
  return def.traits.structural ? "of what it holds" : "no";
}

void ShowOp(const Session& session, const OpDef& def) {
  fmt::print("{}\n", session.out.Bold(Signature(def)));
  if (!def.doc.empty()) fmt::print("\n  {}\n", def.doc);
  if (!def.formula.empty()) fmt::print("  Formula: {}\n", def.formula);
  size_t width = 8;
  for (const ArgSpec& arg : def.args) width = std::max(width, arg.name.size());
  if (!def.args.empty()) fmt::print("\nArguments\n");
  for (const ArgSpec& arg : def.args) fmt::print("  {:<{}}  {}\n", arg.name, width, ArgText(arg));
  std::string kernels;
  for (const Kernel& kernel : def.kernels) kernels += (kernels.empty() ? "" : ", ") + kernel.name;
  if (kernels.empty()) kernels = def.traits.structural ? "the executor's own" : "none";
  fmt::print("\n{:<{}}  {}\n", "Group", width + 2, def.group.empty() ? "structural" : def.group);
  fmt::print("{:<{}}  {}\n", "Results", width + 2,
             def.num_results < 0 ? "its use decides" : std::to_string(def.num_results));
  fmt::print("{:<{}}  {}\n", "Gradient", width + 2, GradientText(def));
  fmt::print("{:<{}}  {}\n", "Kernels", width + 2, kernels);
}

ExitCode Ops(Session& session, const std::string& name) {
  const auto ops = MakeVocabulary(session).ops;
  if (!name.empty()) {
    const OpDef* def = ops->Find(name);
    if (def == nullptr) {
      std::vector<std::string_view> names;
      for (const OpDef* other : ops->All()) names.push_back(other->name);
      const std::string close = Suggest(name, names);
      throw CommandError(kUsage, fmt::format("there is no op {}{}", name,
                                             close.empty() ? "; `catamaran ops` lists them"
                                                           : "; did you mean " + close + "?"));
    }
    ShowOp(session, *def);
    return kOk;
  }
  std::map<std::string, std::vector<const OpDef*>> groups;
  size_t width = 0;
  for (const OpDef* def : ops->All()) {
    groups[def->group.empty() ? "structural" : def->group].push_back(def);
    width = std::max(width, def->name.size());
  }
  for (const auto& [group, defs] : groups) {
    fmt::print("{}\n", session.out.Bold(group));
    for (const OpDef* def : defs) {
      fmt::print("  {:<{}}  {}\n", def->name, width, FirstSentence(def->doc));
    }
  }
  fmt::print("\n{} ops. `catamaran ops NAME` says all about one.\n", ops->All().size());
  return kOk;
}

ExitCode Builders(Session& session, const std::string& name) {
  const auto builders = MakeVocabulary(session).builders;
  if (!name.empty()) {
    const BuilderDef* def = builders->Find(name);
    if (def == nullptr) {
      std::vector<std::string_view> names;
      for (const BuilderDef* other : builders->All()) names.push_back(other->name);
      const std::string close = Suggest(name, names);
      throw CommandError(kUsage, fmt::format("there is no builder {}{}", name,
                                             close.empty() ? "; `catamaran builders` lists them"
                                                           : "; did you mean " + close + "?"));
    }
    std::string signature = def->name + "(";
    size_t width = 0;
    for (const StaticParam& param : def->params) {
      if (!signature.ends_with('(')) signature += ", ";
      signature += param.name + ": " + std::string(StaticKindName(param.kind));
      if (!param.default_value.empty()) signature += " = " + param.default_value.ToString();
      width = std::max(width, param.name.size());
    }
    fmt::print("{}\n\n  {}\n", session.out.Bold(signature + ")"), def->doc);
    if (!def->params.empty()) fmt::print("\nArguments\n");
    for (const StaticParam& param : def->params) {
      fmt::print("  {:<{}}  {}\n", param.name, width, param.doc);
    }
    return kOk;
  }
  size_t width = 0;
  for (const BuilderDef* def : builders->All()) width = std::max(width, def->name.size());
  for (const BuilderDef* def : builders->All()) {
    fmt::print("{:<{}}  {}\n", def->name, width, FirstSentence(def->doc));
  }
  fmt::print("\n{} builders. `catamaran builders NAME` says all about one.\n",
             builders->All().size());
  return kOk;
}

}  // namespace

void AddOps(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("ops", "List the ops, or say all about one");
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "an op");
  command->callback(
      [&session, name] { session.action = [&session, name] { return Ops(session, *name); }; });
}

void AddBuilders(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("builders", "List layers and transforms, or explain one");
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "a builder");
  command->callback(
      [&session, name] { session.action = [&session, name] { return Builders(session, *name); }; });
}

}  // namespace catamaran::cli

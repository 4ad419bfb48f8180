// catamaran ops [NAME | --markdown], catamaran builders [NAME]

#include <map>

#include "catamaran/base/suggest.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ops/op_docs.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

std::string FirstSentence(const std::string& text) {
  const size_t end = text.find(". ");
  return end == text.npos ? text : text.substr(0, end + 1);
}

void ShowOp(const Session& session, const OpDef& def) {
  fmt::print("{}\n", session.out.Bold(OpSignature(def)));
  if (!def.doc.empty()) fmt::print("\n  {}\n", def.doc);
  if (!def.formula.empty()) fmt::print("  Formula: {}\n", def.formula);
  size_t width = 8;
  for (const ArgSpec& arg : def.args) width = std::max(width, arg.name.size());
  if (!def.args.empty()) fmt::print("\nArguments\n");
  for (const ArgSpec& arg : def.args) fmt::print("  {:<{}}  {}\n", arg.name, width, OpArgText(arg));
  std::string kernels;
  for (const Kernel& kernel : def.kernels) kernels += (kernels.empty() ? "" : ", ") + kernel.name;
  if (kernels.empty()) kernels = def.traits.structural ? "the executor's own" : "none";
  fmt::print("\n{:<{}}  {}\n", "Group", width + 2, def.group.empty() ? "structural" : def.group);
  fmt::print("{:<{}}  {}\n", "Results", width + 2,
             def.num_results < 0 ? "its use decides" : std::to_string(def.num_results));
  fmt::print("{:<{}}  {}\n", "Gradient", width + 2, OpGradientText(def));
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

ExitCode Markdown(Session& session) {
  fmt::print("{}", OpsMarkdown(MakeVocabulary(session).ops));
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
  const auto markdown = std::make_shared<bool>(false);
  auto* one = command->add_option("NAME", *name, "an op");
  command
      ->add_flag("--markdown", *markdown, "print the reference of all ops, as docs/ops.md has it")
      ->excludes(one);
  command->callback([&session, name, markdown] {
    session.action = [&session, name, markdown] {
      return *markdown ? Markdown(session) : Ops(session, *name);
    };
  });
}

void AddBuilders(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("builders", "List layers and transforms, or explain one");
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "a builder");
  command->callback(
      [&session, name] { session.action = [&session, name] { return Builders(session, *name); }; });
}

}  // namespace catamaran::cli

// catamaran features show [FILE] [--data …] [--json]

#include "catamaran/data/features/feature_library.h"
#include "catamaran/data/features/standard_functions.h"
#include "cli/data/text_table.h"
#include "cli/features/commands.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct ShowFeatures {
  FeaturesInput input;
};

ExitCode ListFunctions(const ShowFeatures& command) {
  FeatureFunctionSet functions = StandardFeatureFunctions();
  for (const std::string& path : command.input.options.libraries) {
    LoadFeatureLibrary(functions, path);
  }
  for (const auto& [name, function] : functions.all()) {
    fmt::print("{}{}\n    {}\n", function.usage, function.fit ? "  (fitted)" : "", function.about);
  }
  return kOk;
}

ExitCode Show(const Session& session, const ShowFeatures& command) {
  if (command.input.file.empty()) return ListFunctions(command);
  const Features features = OpenFeatures(session, command.input);
  std::optional<Schema> columns = features.declared_inputs();
  if (!command.input.data.paths.empty()) {
    columns = OpenFeaturesData(session, command.input, features)->schema();
  }
  std::vector<std::vector<std::string>> lines;
  if (!columns) {
    fmt::print("What the outputs are depends on the data: give --data, or `input` lines.\n");
    for (const FeatureLine& line : features.syntax().lines) {
      if (line.output) lines.push_back({line.name, "=", ToString(line.expr)});
    }
    PrintTable({Align::kLeft, Align::kLeft, Align::kLeft}, lines);
    return kOk;
  }
  const auto transform = features.Bind(*columns);
  for (const FeatureLine& line : features.syntax().lines) {
    if (!line.output) continue;
    const int column = transform->schema().Find(line.name);
    lines.push_back({line.name, transform->schema()[column].KindText(), ToString(line.expr)});
  }
  PrintTable({Align::kLeft, Align::kLeft, Align::kLeft}, lines);
  std::string inputs;
  for (const std::string& name : transform->inputs()) inputs += (inputs.empty() ? "" : ", ") + name;
  fmt::print("reads {}\nhash {:016x}\n", inputs, transform->hash());
  return kOk;
}

}  // namespace

void AddFeaturesShow(CLI::App& features, Session& session) {
  auto* sub = features.add_subcommand("show", "The outputs of a features file, or all functions");
  const auto command = std::make_shared<ShowFeatures>();
  AddFeaturesOptions(*sub, command->input);
  sub->get_option("FILE")->required(false);
  AddFeaturesData(*sub, command->input, false);
  sub->footer(
      "\nExamples:\n"
      "  catamaran features show                         the functions\n"
      "  catamaran features show adult.features --data adult.data\n"
      "                                                  the outputs and their kinds");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Show(session, *command); };
  });
}

}  // namespace catamaran::cli

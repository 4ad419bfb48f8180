// catamaran features fit FILE --data … [-o FITTED]

#include <fmt/format.h>

#include "catamaran/data/features/fit.h"
#include "catamaran/data/features/fitted_file.h"
#include "cli/features/commands.h"
#include "cli/output_file.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct FitCommand {
  FeaturesInput input;
  std::string out;
};

ExitCode Fit(const Session& session, FitCommand command) {
  command.input.options.unfitted = true;
  const Features features = OpenFeatures(session, command.input);
  const std::string out = command.out.empty() ? FittedPath(command.input.file) : command.out;
  if (out == command.input.file) {
    throw CommandError(kUsage, fmt::format("{}: this is the features file itself", out));
  }
  const Features fitted =
      FitFeatures(features, [&] { return OpenFeaturesData(session, command.input, features); });
  const std::string text = FittedText(fitted);
  // What is written must be what is read: a mistake here would be found at serving.
  const Features again = ParseFitted(session.fs, text, out, command.input.options);
  const Schema columns = *fitted.declared_inputs();
  const uint64_t hash = fitted.Bind(columns)->hash();
  CATAMARAN_CHECK(again.Bind(columns)->hash() == hash, "fitted features are read differently");
  OutputFile file(session.fs, out);
  file.Append(text);
  file.Keep();
  for (const auto& [call, value] : fitted.fitted()) {
    fmt::print("{}: {}\n", call,
               value.texts.empty() ? fmt::format("{:.6g}", fmt::join(value.numbers, ", "))
                                   : CountText(static_cast<int64_t>(value.texts.size()), "word"));
  }
  for (const auto& [name, side] : fitted.files()) {
    fmt::print("{}: {}\n", name, CountText(side->rows().rows(), "row"));
  }
  fmt::print("written to {}, hash {:016x}\n", out, hash);
  return kOk;
}

}  // namespace

void AddFeaturesFit(CLI::App& features, Session& session) {
  auto* sub = features.add_subcommand(
      "fit", "Learn from data what a features file needs: means, boundaries, vocabularies");
  const auto command = std::make_shared<FitCommand>();
  AddFeaturesOptions(*sub, command->input);
  AddFeaturesData(*sub, command->input, true);
  sub->add_option("-o,--out", command->out, "where it goes (FILE.fit)")->type_name("FITTED");
  sub->footer(
      "\nThe result is one text file with the features file, what was learned, and the files "
      "beside\n"
      "the data: all that serving needs. Where it stands beside FILE as FILE.fit, commands that "
      "are\n"
      "given FILE use it.\n"
      "\nExamples:\n"
      "  catamaran features fit adult.features --data adult.data\n"
      "  catamaran features fit movielens.features --data train.tsv -o movielens.fit");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Fit(session, *command); };
  });
}

}  // namespace catamaran::cli

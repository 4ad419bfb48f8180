// catamaran features show|fit|apply|check

#include "catamaran/data/files/input_paths.h"
#include "cli/features/commands.h"

namespace catamaran::cli {

void AddFeaturesOptions(CLI::App& command, FeaturesInput& input) {
  command.add_option("FILE", input.file, "a features file, or what fit has made of one")
      ->required()
      ->type_name("FILE.features");
  command
      .add_option("--features-library", input.options.libraries,
                  "a shared library with more feature functions")
      ->type_name("LIB.so");
  command
      .add_option("--side-folder", input.options.folders,
                  "where files beside the data are, if not beside the features file or the data")
      ->type_name("DIR");
}

void AddFeaturesData(CLI::App& command, FeaturesInput& input, bool required) {
  auto* data = command.add_option("--data", input.data.paths, "files of raw rows");
  data->type_name("FILE ...");
  if (required) data->required();
  AddInputOptions(command, input.data);
  AddBadRowsOption(command, input.data);
}

Features OpenFeatures(const Session& session, const FeaturesInput& input) {
  CheckReadable(session.fs, input.file);
  FeatureOptions options = input.options;
  for (const std::string& path : input.data.paths) {
    const std::string folder = ParentDirectory(path);
    if (options.folders.empty() || options.folders.back() != folder) {
      options.folders.push_back(folder);
    }
  }
  return LoadFeatures(session.fs, input.file, options);
}

std::unique_ptr<RowReader> OpenFeaturesData(const Session& session, const FeaturesInput& input,
                                            const Features& features) {
  ReaderOptions options = features.ReaderSettings(MakeReaderOptions(session, input.data));
  options.need_columns = true;
  const std::vector<std::string> files = InputFiles(session, input.data);
  if (files.size() == 1) return OpenReader(session.fs, files[0], options);
  return OpenReader(session.fs, files, options);
}

void AddFeatures(CLI::App& app, Session& session) {
  auto* features = app.add_subcommand(
      "features", "What becomes of raw rows: show, fit and apply features files");
  features->require_subcommand(1);
  features->footer(
      "\nA features file has a line for each output, as `age = bucket(age, [18, 30, 60])`.\n"
      "docs/features.md describes it; `catamaran features show` lists the functions.");
  AddFeaturesShow(*features, session);
  AddFeaturesFit(*features, session);
  AddFeaturesApply(*features, session);
  AddFeaturesCheck(*features, session);
}

}  // namespace catamaran::cli

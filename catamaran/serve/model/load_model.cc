// serve/model/load_model.cc

#include "catamaran/serve/model/load_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/features/features_record.h"
#include "catamaran/exec/compile.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/train/trained_features.h"

namespace catamaran {
namespace {

EntryPoints FindFunctions(Program& flat, const ModelConfig& config) {
  EntryPoints wanted;
  wanted.infer = config.infer_fn;
  wanted.train = config.learn ? config.train_fn : "";
  EntryPoints entry = FindEntryPoints(flat, wanted);
  if (entry.infer.empty()) {
    Fail("{}: program {} has no function {} to answer requests with", config.program, flat.name,
         config.infer_fn);
  }
  return entry;
}

// A state, or of the directory of a run its best one, or its latest.
std::string FindState(const FileSystem& fs, const std::string& directory) {
  for (const std::string& path :
       {directory, JoinPath(directory, "best"), JoinPath(directory, "latest")}) {
    if (HasState(fs, path)) return path;
  }
  Fail("{}: no state was saved here", directory);
}

// An Error if the features are not those that the state was trained with.
void CheckFeatures(HostedModel& model, const CommitInfo& info, const std::string& directory) {
  model.features_note =
      CheckTrainedFeatures(info, directory, model.features, *model.flat, model.entry, model.feed,
                           model.config.allow_changed_features);
  const auto record = info.find(kFeaturesRecord);
  if (!model.features && record != info.end()) model.features_record = record->second;
}

std::string DamageNote(const std::string& directory) { return JoinPath(directory, "damage"); }

}  // namespace

std::string StateDirectoryOf(const std::string& directory) { return JoinPath(directory, "state"); }
std::string LogDirectoryOf(const std::string& directory) { return JoinPath(directory, "log"); }

void LoadStateOf(HostedModel& model) {
  const FileSystem& fs = *model.fs;
  const std::string own = model.directory.empty() ? "" : StateDirectoryOf(model.directory);
  LoadOptions options;
  options.match.allow_new = model.config.allow_new;
  options.match.allow_missing = model.config.allow_missing;
  options.match.renames.insert(model.config.renames.begin(), model.config.renames.end());
  if (!own.empty()) options.state.tables.scratch = ScratchOf(own);
  if (!own.empty() && HasState(fs, own)) {
    options.rows_later = model.config.learn && !DamageIsNoted(fs, model.directory);
    model.loaded = LoadState(fs, own, *model.flat, options);
    CheckFeatures(model, model.loaded->info, own);
    model.state = std::move(model.loaded->state);
    model.warnings = model.loaded->warnings;
  } else if (!model.config.state.empty()) {
    const std::string from = FindState(fs, model.config.state);
    LoadedState loaded = LoadState(fs, from, *model.flat, options);
    CheckFeatures(model, loaded.info, from);
    model.state = std::move(loaded.state);
    model.warnings = std::move(loaded.warnings);
  } else {
    model.state = State::Create(*model.flat, model.config.seed, options.state);
  }
}

void NoteDamage(FileSystem& fs, const std::string& directory, const std::string& what) noexcept {
  try {
    WriteFileAtomically(fs, DamageNote(directory), what + "\n");
  } catch (const std::exception&) {
    // Then the next start finds the damage as this one did.
  }
}

bool DamageIsNoted(const FileSystem& fs, const std::string& directory) {
  return fs.Exists(DamageNote(directory));
}

void DamageIsPassed(FileSystem& fs, const std::string& directory) noexcept {
  try {
    fs.Remove(DamageNote(directory));
  } catch (const std::exception&) {
    // Then the next start verifies once more than it had to.
  }
}

namespace {

// Whether a file begins, behind blanks and comments, with "program NAME".
bool IsProgram(const FileSystem& fs, const std::string& path) {
  const std::string text = fs.ReadAll(path);
  std::string_view rest = text;
  const auto skip_blanks = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
  };
  skip_blanks();
  while (rest.starts_with("//") || rest.starts_with('#')) {
    rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
    skip_blanks();
  }
  constexpr std::string_view kWord = "program";
  if (!rest.starts_with(kWord)) return false;
  rest.remove_prefix(kWord.size());
  if (!rest.starts_with(' ') && !rest.starts_with('\t')) return false;
  skip_blanks();
  if (rest.empty()) return false;
  const char c = rest.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// PATH of a line "PATH:NUMBER: …"; empty if it is none.
std::string PathOfMessage(std::string_view line) {
  for (size_t colon = line.find(':'); colon != line.npos; colon = line.find(':', colon + 1)) {
    const size_t end = line.find_first_not_of("0123456789", colon + 1);
    if (end != line.npos && end > colon + 1 && line[end] == ':') {
      return std::string(line.substr(0, colon));
    }
  }
  return "";
}

}  // namespace

std::string WithoutForeignLines(const FileSystem& fs, const std::string& message) {
  std::string_view rest = message;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    // A message begins with its place; what is indented belongs to it.
    const std::string path = line.starts_with(' ') ? "" : PathOfMessage(line);
    if (path.empty() || path.ends_with(".features")) continue;
    try {
      if (IsProgram(fs, path)) continue;
    } catch (const std::exception&) {
      // It cannot be read, and yet there are lines of it.
    }
    return fmt::format(
        "{} is not a program (which begins with 'program NAME') or a features file; its lines are "
        "not shown",
        path);
  }
  return message;
}

namespace {

// All but the state.
HostedModel ReadFiles(FileSystem& fs, const Vocabulary& words, const std::string& name,
                      const ModelConfig& config) {
  HostedModel model;
  model.name = name;
  model.config = config;
  model.fs = &fs;
  // Of files that a model has saved itself it would be damage; here whoever loads it is wrong.
  for (const std::string& path : {config.program, config.features}) {
    if (!path.empty() && !fs.Exists(path)) Fail("{}: there is no such file", path);
  }
  const Program written = ParseFile(fs, config.program, words.ops, *words.builders);
  model.program_text = fs.ReadAll(config.program);
  auto flat = std::make_shared<Program>(Flatten(written, *words.builders));
  model.entry = FindFunctions(*flat, config);
  model.flat = std::move(flat);
  model.feed.bind = config.bind;
  if (!config.features.empty()) {
    FeatureOptions options;
    options.libraries = config.feature_libraries;
    model.features = LoadFeatures(fs, config.features, options);
    model.features_record = RecordOfFeatures(model.features, *model.flat, model.entry, model.feed);
  }
  return model;
}

}  // namespace

HostedModel LoadModel(FileSystem& fs, const Vocabulary& words, const std::string& name,
                      const ModelConfig& config, const std::string& directory) {
  HostedModel model = ReadFiles(fs, words, name, config);
  model.directory = directory;
  LoadStateOf(model);
  return model;
}

void CheckModel(FileSystem& fs, const Vocabulary& words, const std::string& name,
                const ModelConfig& config) {
  const HostedModel model = ReadFiles(fs, words, name, config);
  Compile(*model.flat, model.entry.infer);
  if (config.learn && !Compile(*model.flat, model.entry.train)->commits()) {
    Fail(ErrorCode::kInvalidProgram, "{}: {} learns nothing: it has no commit region",
         config.program, model.entry.train);
  }
}

}  // namespace catamaran

// serve/model/load_model.cc

#include "catamaran/serve/model/load_model.h"

#include <fmt/format.h>

#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/exec/compile.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"

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
    model.state = std::move(model.loaded->state);
    model.warnings = model.loaded->warnings;
  } else if (!model.config.state.empty()) {
    LoadedState loaded = LoadState(fs, FindState(fs, model.config.state), *model.flat, options);
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

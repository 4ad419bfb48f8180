// commit/state_file.cc

#include "catamaran/commit/state_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/commit/dense_participant.h"
#include "catamaran/commit/first_format_rows.h"
#include "catamaran/commit/opened_commit.h"
#include "catamaran/commit/table_participant.h"
#include "catamaran/exec/table_settings.h"
#include "catamaran/table/files/table_description.h"

namespace catamaran {
namespace {

constexpr std::string_view kLockName = "LOCK";
constexpr std::string_view kScratchName = "scratch";

void AddParticipants(CommitCoordinator& commits, FileSystem& fs, const Program& flat, State& state,
                     const std::map<std::string, CommitPart>& tables) {
  const std::string& directory = commits.directory();
  commits.Add(std::make_unique<DenseParticipant>(fs, directory, flat, state));
  for (size_t i = 0; i < state.size(); ++i) {
    const StateInfo info = state.info(i);
    if (info.kind != StateKind::kTable) continue;
    const auto loaded = tables.find(std::string(info.name));
    commits.Add(
        std::make_unique<TableParticipant>(fs, directory, info.name, state.table(info.name),
                                           loaded == tables.end() ? CommitPart{} : loaded->second));
  }
}

// Features of a row are kept as places in the list of names, so that may only get longer.
void CheckFeatures(const TableConfig& saved, const TableConfig& now) {
  const bool prefix =
      saved.features.size() <= now.features.size() &&
      std::equal(saved.features.begin(), saved.features.end(), now.features.begin());
  if (prefix) return;
  Fail("its features were {}; now they are {}: new ones go to the end, and none may go",
       fmt::join(saved.features, ", "), fmt::join(now.features, ", "));
}

// The seed that the table had, by its path when it was saved.
uint64_t SeedOf(const OpenedCommit& commit, const std::string& saved) {
  const auto found = commit.tables.find(saved);
  if (found != commit.tables.end()) return found->second->config().seed;
  return TableSeed(saved, commit.summary.seed);
}

void LoadTable(const OpenedCommit& commit, const std::string& saved, DurableTable& table,
               bool rows_later) {
  std::shared_ptr<const RowBacking> backing;
  if (commit.found.first_format) {
    backing = ReadFirstFormatRows(commit.first_format_rows, saved, table);
  } else {
    const auto found = commit.tables.find(saved);
    if (found == commit.tables.end())
      Fail(ErrorCode::kStorage, "damaged: the manifest names no rows of it");
    const std::string difference = DifferenceOfRows(found->second->config(), table.config());
    if (!difference.empty()) Fail("its rows are of another kind: {}", difference);
    CheckFeatures(found->second->config(), table.config());
    backing = found->second;
    const auto cold = commit.cold.find(saved);
    if (cold != commit.cold.end()) {
      if (!table.keeps_cold_rows()) {
        Fail("some of its rows are in a store on disk; declare where it keeps them");
      }
      table.LoadColdRows(cold->second);
    }
  }
  constexpr int64_t kRowsAtATime = 1 << 16;
  table.Attach(std::move(backing));
  while (!rows_later && table.MoveIn(kRowsAtATime)) {
  }
}

}  // namespace

std::unique_ptr<FileLock> LockState(FileSystem& fs, const std::string& directory) {
  fs.MakeDirectories(directory);
  return fs.Lock(JoinPath(directory, kLockName));
}

std::string ScratchOf(const std::string& directory) { return JoinPath(directory, kScratchName); }

bool HasState(const FileSystem& fs, const std::string& directory) {
  return !FindCommits(fs, directory).commits.empty();
}

void SaveState(FileSystem& fs, const std::string& directory, const Program& flat, State& state,
               const std::map<std::string, std::string>& info) {
  CommitOptions options;
  options.info = info;
  options.compact = false;
  MakeCommits(fs, directory, flat, state, options)->Commit();
}

std::unique_ptr<CommitCoordinator> MakeCommits(FileSystem& fs, const std::string& directory,
                                               const Program& flat, State& state,
                                               const CommitOptions& options) {
  auto commits = std::make_unique<CommitCoordinator>(fs, directory, state, options);
  AddParticipants(*commits, fs, flat, state, {});
  return commits;
}

std::unique_ptr<CommitCoordinator> MakeCommits(FileSystem& fs, const std::string& directory,
                                               const Program& flat, State& state,
                                               const LoadedState& loaded,
                                               const CommitOptions& options) {
  auto commits = std::make_unique<CommitCoordinator>(fs, directory, state, options);
  commits->ContinueFrom(loaded.commit);
  AddParticipants(*commits, fs, flat, state, loaded.tables);
  return commits;
}

LoadedState LoadState(const FileSystem& fs, const std::string& directory, const Program& flat,
                      const MatchOptions& match, const StateOptions& options) {
  LoadOptions load;
  load.match = match;
  load.state = options;
  return LoadState(fs, directory, flat, load);
}

LoadedState LoadState(const FileSystem& fs, const std::string& directory, const Program& flat,
                      const LoadOptions& options) {
  OpenedCommit commit = options.commit == 0
                            ? OpenNewestCommit(fs, directory, !options.rows_later)
                            : OpenCommit(fs, directory, options.commit, !options.rows_later);
  LoadedState loaded;
  loaded.match =
      MatchState(commit.summary.declarations, DeclarationsOf(flat), options.match, directory);
  StateOptions state_options = options.state;
  if (state_options.tables.scratch.empty()) state_options.tables.scratch = ScratchOf(directory);
  for (const StateMatch::Pair& pair : loaded.match.loaded) {
    state_options.table_seeds[pair.now] = SeedOf(commit, pair.saved);
  }
  loaded.state = State::Create(flat, commit.summary.seed, state_options);
  for (const StateMatch::Pair& pair : loaded.match.loaded) {
    const size_t i = static_cast<size_t>(loaded.state->Find(pair.now));
    if (loaded.state->info(i).kind == StateKind::kTable) {
      try {
        LoadTable(commit, pair.saved, loaded.state->table(pair.now), options.rows_later);
      } catch (const Error& error) {
        Fail(error.code(), "{}: @{}: {}", directory, pair.saved, error.what());
      }
      const CommitPart* part = commit.found.manifest.Find(TablePart(pair.saved));
      if (part != nullptr) loaded.tables[pair.now] = *part;
    } else {
      const Tensor* tensor = commit.dense.Find(pair.saved);
      if (tensor == nullptr)
        Fail(ErrorCode::kStorage, "{}: damaged: there is no value of @{}", directory, pair.saved);
      loaded.state->SetTensor(pair.now, *tensor);
    }
  }
  loaded.state->SetStep(commit.summary.step, commit.found.manifest.event_time);
  loaded.commit = commit.found.commit;
  loaded.positions = commit.found.manifest.positions;
  loaded.info = commit.found.manifest.info;
  loaded.warnings = std::move(commit.warnings);
  for (const CommitPart& part : commit.found.manifest.parts) {
    const bool ours = part.name == kDensePart || !TableOfPart(part.name).empty();
    if (!ours && !commit.found.first_format) loaded.other_parts.push_back(part);
  }
  return loaded;
}

StateSummary ReadStateSummary(const FileSystem& fs, const std::string& directory) {
  OpenedCommit commit = OpenNewestCommit(fs, directory, /*verify_rows=*/false);
  return {commit.summary.program,    commit.summary.step,         commit.summary.seed,
          commit.found.commit,       commit.summary.declarations, std::move(commit.warnings),
          commit.found.manifest.info};
}

}  // namespace catamaran

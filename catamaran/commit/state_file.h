// commit/state_file.h
//
// A State in a directory, and back. The directory holds commits (coordinator.h); this loads the
// newest whole one, and saves a State once, as one more commit. docs/formats/state.md has the
// layout.
//
// What survives: a commit is durable or it is not there, whatever crashes when. Flipped bits are
// found by checksums: a damaged commit is never loaded; the one before it is, and a warning says
// so. If none is whole, that is an Error that says what is wrong with each.
//
// Thread safety: a State may be used while it is saved; a save sees it between two steps. One
// saver per directory at a time (LockState); loading needs no lock.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/coordinator.h"
#include "catamaran/commit/state_match.h"
#include "catamaran/exec/state.h"

namespace catamaran {

// Taken by whoever saves, from before the state is loaded until after it is saved. Makes the
// directory if it is missing. An Error if another holds it.
std::unique_ptr<FileLock> LockState(FileSystem& fs, const std::string& directory);

// Whether a state was saved there.
bool HasState(const FileSystem& fs, const std::string& directory);

// Makes `state` the state of the directory, which is made if missing: one full commit, with `info`
// in what it says about itself (CommitManifest). Whoever
// saves again and again lets MakeCommits do it, which writes what has changed. Throws an Error, and
// leaves the commit before, when something fails; only if the very last step (syncing the
// directory) failed is it open which of the two the directory holds.
// REQUIRES: `state` was made from a program with the same declarations and has no other saver;
// nobody else saves there.
void SaveState(FileSystem& fs, const std::string& directory, const Program& flat, State& state,
               const std::map<std::string, std::string>& info = {});

// Where a State of that directory keeps rows of tables that declare `home = disk(…)` while it
// lives (TableOptions::scratch): beneath the directory, so that commits share files with it.
std::string ScratchOf(const std::string& directory);

struct LoadOptions {
  MatchOptions match;
  StateOptions state;   // tables.scratch is ScratchOf the directory unless it is given
  uint64_t commit = 0;  // which one; 0: the newest that is whole
  // By default every byte is verified and all rows are in memory when LoadState returns. Otherwise
  // rows stay in mapped files, every key resolves at once, blocks are verified when they are first
  // touched, and rows move into memory as they are written, and by RowMover (row_mover.h).
  bool rows_later = false;
};

struct LoadedState {
  std::unique_ptr<State> state;
  StateMatch match;
  uint64_t commit = 0;
  Positions positions;
  std::map<std::string, std::string> info;  // what the commit says about itself
  // Newer commits that are not whole and were passed over: what is wrong with them.
  std::vector<std::string> warnings;
  // What the tables were loaded from, by their paths in the program: for MakeCommits.
  std::map<std::string, CommitPart> tables;
  // What is neither dense values nor a table: of other participants (bytes_participant.h).
  std::vector<CommitPart> other_parts;
};

// A new State for `flat` with the seed, step and event time of the saved one, and the seeds that
// its tables had: a table that was renamed goes on as it was. Throws an Error when no commit is
// whole, or what is saved does not fit as MatchState says.
LoadedState LoadState(const FileSystem& fs, const std::string& directory, const Program& flat,
                      const LoadOptions& options);
LoadedState LoadState(const FileSystem& fs, const std::string& directory, const Program& flat,
                      const MatchOptions& match = {}, const StateOptions& options = {});

// Commits of a State that was made anew (then nothing in the directory is continued), or loaded
// from that directory: then the next commit holds what has changed since. All is added: the dense
// values and each table.
// REQUIRES: `fs` and `state` outlive it; `loaded.state` may have been moved from, and is the State.
std::unique_ptr<CommitCoordinator> MakeCommits(FileSystem& fs, const std::string& directory,
                                               const Program& flat, State& state,
                                               const CommitOptions& options = {});
std::unique_ptr<CommitCoordinator> MakeCommits(FileSystem& fs, const std::string& directory,
                                               const Program& flat, State& state,
                                               const LoadedState& loaded,
                                               const CommitOptions& options = {});

// What a state directory says about itself, without the values.
struct StateSummary {
  std::string program;
  int64_t step = 0;
  uint64_t seed = 0;
  uint64_t commit = 0;
  std::vector<SavedDecl> declarations;
  std::vector<std::string> warnings;
  std::map<std::string, std::string> info;
};
StateSummary ReadStateSummary(const FileSystem& fs, const std::string& directory);

}  // namespace catamaran

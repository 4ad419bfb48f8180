// commit/state_file.h
//
// A State in a directory, and back: params and vars in one safetensors file, the rows of tables
// in a second one, and the file CURRENT that says which files are the state. The layout is
// docs/formats/state.md.
//
// What survives: a save writes files of a new generation beside the old ones, syncs them, and
// then replaces CURRENT. After a crash at any point, process or machine, the directory holds the
// old or the new state, whole; once SaveState has returned, the new one. Files that a crash left
// over are ignored and go with the next save. Flipped bits are found by checksums: a damaged
// state is an Error, never loaded.
//
// Thread safety: a State may be used while it is saved; a save sees it between two steps. One
// saver per directory at a time (LockState); loading needs no lock.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/state_match.h"
#include "catamaran/exec/state.h"

namespace catamaran {

// Taken by whoever saves, from before the state is loaded until after it is saved. Makes the
// directory if it is missing. An Error if another holds it.
std::unique_ptr<FileLock> LockState(FileSystem& fs, const std::string& directory);

// Whether a state was saved there.
bool HasState(const FileSystem& fs, const std::string& directory);

// Makes `state` the state of the directory, which is made if missing. Throws an Error, and leaves
// the old state, when something fails; only if the very last step (syncing the directory) failed
// is it open which of the two the directory holds.
// REQUIRES: `state` was made from a program with the same declarations; nobody else saves there.
void SaveState(FileSystem& fs, const std::string& directory, const Program& flat, State& state);

struct LoadedState {
  std::unique_ptr<State> state;
  StateMatch match;
};

// A new State for `flat` with the seed and step of the saved one. Throws an Error when the state
// is damaged, or does not fit as MatchState says.
LoadedState LoadState(const FileSystem& fs, const std::string& directory, const Program& flat,
                      const MatchOptions& match = {}, const StateOptions& options = {});

// What a state directory says about itself, without the values.
struct StateSummary {
  std::string program;
  int64_t step = 0;
  uint64_t seed = 0;
  uint64_t generation = 0;
  std::vector<SavedDecl> declarations;
};
StateSummary ReadStateSummary(const FileSystem& fs, const std::string& directory);

}  // namespace catamaran

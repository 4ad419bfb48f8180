// commit/participant.h
//
// A participant is whoever has something to save in a commit: the dense state, a table, a stream's
// position. The coordinator (coordinator.h) takes all of them through one commit together:
//
//   Cut(C)        between two steps: notes what there is at this moment; short
//   Prepare(C)    later, while steps go on: writes that to files named after C, and syncs them
//   End(C, kept)  between two steps: the commit is durable, or it never was
//
// Thread safety: the coordinator calls one of these three at a time, from any thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace catamaran {

// One file of a commit. Immutable once it is synced.
struct CommitFile {
  std::string name;  // in the state directory
  uint64_t size = 0;
  uint32_t crc = 0;  // of all its bytes; of a row file its root checksum, which stands for them
  // It holds what changed in the commits after `from` up to `to`; with `from` 0 all that there was
  // at `to`.
  uint64_t from = 0;
  uint64_t to = 0;
  friend bool operator==(const CommitFile&, const CommitFile&) = default;
};

// What a participant has in a commit.
struct CommitPart {
  std::string name;  // of the participant
  // Oldest first, each from where the one before ended: together they are the state.
  std::vector<CommitFile> files;
  // Files that the state no longer needs, and readers of increments may.
  std::vector<CommitFile> kept;
  // Directories that vouch for themselves: copies of stores that have checksums of their own.
  std::vector<std::string> directories;
  friend bool operator==(const CommitPart&, const CommitPart&) = default;
};

class CommitParticipant {
 public:
  virtual ~CommitParticipant() = default;

  // Unique among the participants and the same in every run.
  virtual const std::string& name() const = 0;

  // With the State's turn to write. An Error if it cannot; then nothing has happened.
  virtual void Cut(uint64_t commit) = 0;

  // REQUIRES: after Cut(commit), before End(commit). `oldest_reader` is the oldest commit that a
  // reader of increments has, or `commit` if there is none.
  virtual CommitPart Prepare(uint64_t commit, uint64_t oldest_reader) = 0;

  // With the State's turn to write, after each Cut, whether or not Prepare was called. Not kept:
  // the next commit holds what this one held.
  virtual void End(uint64_t commit, bool kept) = 0;

  // Replaces files by fewer ones that hold the same, where that is worth it; the next commit names
  // them. May run at the same time as everything above. Returns early once `stop` is true.
  virtual void Compact(const std::atomic<bool>& /*stop*/) {}

  // Files that it has made, or is making, for a commit to come; a file is among them before it is
  // made, or it might be taken for one that nobody needs. From any thread.
  virtual std::vector<std::string> FilesToCome() const { return {}; }
};

}  // namespace catamaran

// commit/coordinator.h
//
// Takes everything that a State learns into numbered commits, in a directory: each is all effects
// of the steps up to some step, in every part, and none of a later one.
//
//   CommitCoordinator commits(fs, "models/live", *state);
//   commits.Add(…);                 // participants; state_commits.h does this for a program
//   commits.Commit();               // or, while training goes on:
//   commits.StartCommit(); … train … commits.Wait();
//
// A commit cuts every participant between two steps, has each write its files, and then renames a
// manifest that names them into place and syncs the directory: from there on it is durable. After
// a crash, process or machine, at any point, the newest whole commit is what there is. The last
// few commits stay, so that one whose files are damaged later has an older one behind it.
//
// When something fails (a full disk), the commit before stays what it is, the files of the failed
// one are removed, and the next commit holds what it would have held.
//
// Thread safety: commits are driven by one thread at a time; the methods under "From any thread"
// may be called by others meanwhile. Training and inference go on at any time.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/commit_manifest.h"
#include "catamaran/commit/participant.h"
#include "catamaran/exec/state.h"

namespace catamaran {

struct CommitOptions {
  int keep = 2;  // commits that stay
  // Compacts in the background after a commit; else only Compact() does.
  bool compact = true;
  // Readers of increments that are further behind than this many commits have to resync.
  uint64_t max_reader_lag = 1000;
  // What each commit says about the run that made it (threads, kernel choices, …), beside what the
  // coordinator knows by itself: "build" and "isa".
  std::map<std::string, std::string> info;
};

struct CommitResult {
  uint64_t commit = 0;
  int64_t step = 0;
  int64_t cut_ns = 0;      // how long the cut kept others from their turn
  int64_t prepare_ns = 0;  // from the cut until it was durable
};

class CommitCoordinator {
 public:
  // REQUIRES: the caller holds the directory's lock, if others might save there (LockState), and
  // `fs` and `state` outlive the coordinator. An Error if the State has another saver.
  CommitCoordinator(FileSystem& fs, std::string directory, State& state,
                    CommitOptions options = {});
  // Waits for a commit that was started; a failure of it is not heard of any more.
  ~CommitCoordinator();
  CommitCoordinator(const CommitCoordinator&) = delete;
  CommitCoordinator& operator=(const CommitCoordinator&) = delete;

  // Before the first commit.
  void Add(std::unique_ptr<CommitParticipant> participant);
  // Before the first commit: the State was loaded from commit `loaded`. What is newer in the
  // directory goes with the next commit, and does not count among those that stay. Leftovers of
  // commits that never came about are removed at once.
  void ContinueFrom(uint64_t loaded);

  // Returns when the commit is durable; writes on the caller's thread.
  CommitResult Commit(const Positions& positions = {});

  // Cuts on the caller's thread and returns; the rest happens in the background (background.h).
  // Returns the commit's number. REQUIRES: Wait was called for the one before.
  uint64_t StartCommit(const Positions& positions = {});
  // Waits for the commit that was started and says how it went: throws as Commit does.
  CommitResult Wait();

  // Compacts now and returns when there is nothing to do. Not while a commit is in progress.
  void Compact();

  // --- From any thread.
  bool in_progress() const { return in_progress_.load(std::memory_order_acquire); }
  // The newest durable commit of the directory; number 0 if there is none.
  CommitManifest newest() const;
  const std::string& directory() const { return directory_; }

  // A reader of increments and the commit that it has: from the next commit on, changes since then
  // are kept for it. Calling again moves it forward. An Error if there is no such commit yet.
  void SetReader(const std::string& name, uint64_t commit);
  void RemoveReader(const std::string& name);

 private:
  struct Running;

  void Cut(Running& running);
  void Write(Running& running);
  void EndAll(uint64_t commit, bool kept);
  void Succeed(const CommitManifest& manifest);
  CommitResult Finish(Running& running);
  void StartCompaction();
  void StopCompaction();
  std::set<std::string> NamesInUse() const;
  uint64_t OldestReader(uint64_t commit) const;

  FileSystem& fs_;
  const std::string directory_;
  State& state_;
  const CommitOptions options_;
  const State::Saver saver_;
  std::vector<std::unique_ptr<CommitParticipant>> participants_;
  uint64_t next_commit_ = 1;

  mutable std::mutex mutex_;         // guards the next two
  std::deque<FoundCommit> history_;  // newest first; those that stay
  std::map<std::string, uint64_t> readers_;

  std::unique_ptr<Running> started_;
  std::atomic<bool> in_progress_ = false;
  std::thread compactor_;
  std::atomic<bool> stop_compacting_ = false;
  std::atomic<bool> compacting_ = false;
};

}  // namespace catamaran

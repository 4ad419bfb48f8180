// bench/table/live_table.h
//
// A table in a State with commits, as training has it: for benchmarks of what goes on at once.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "catamaran/commit/coordinator.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/program.h"
#include "catamaran/table/durable_table.h"

namespace catamaran::bench {

// A directory that goes with this. In $CATAMARAN_BENCH_DIR if that is set, else in $TMPDIR or
// /var/tmp, which is on a disk more often than /tmp.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// program live, table @feat of rows of 16 floats and row-wise adagrad; `settings` are more lines of
// its declaration.
Program LiveProgram(const std::string& settings);

class LiveTable {
 public:
  // A table without rows, and no commit yet.
  explicit LiveTable(const std::string& settings);
  // Goes on with what LoadState gave.
  LiveTable(const std::string& settings, LoadedState loaded);

  DurableTable& table() { return state_->table("feat"); }
  State& state() { return *state_; }

  // Commits to a directory from now on; the first one is full.
  void BeginCommits(const std::string& directory);
  CommitCoordinator& commits() { return *commits_; }
  void EndCommits() { commits_.reset(); }

  // Runs work() as a step: with the turn to write.
  template <class Work>
  void Step(int64_t event_time, Work work) {
    state_->TakeTurn();
    work();
    state_->FinishStep(event_time);
    state_->GiveTurn();
  }

 private:
  const Program program_;
  std::unique_ptr<State> state_;
  std::unique_ptr<CommitCoordinator> commits_;
};

// Sum of the sizes of the regular files below a directory.
int64_t BytesBelow(const std::string& directory);
// Has the system forget what it keeps in memory of these files, so that the next read comes from
// the disk.
void ForgetCached(const std::string& directory);

}  // namespace catamaran::bench

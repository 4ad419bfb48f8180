// kill_trainer DIRECTORY: trains the model of kill_test_util.h in DIRECTORY, with commits beside
// the steps and now and then between them, until it is killed. Writes a line for each commit.

#include <cstdio>
#include <exception>

#include "catamaran/commit/kill_test_util.h"
#include "catamaran/commit/state_file.h"

namespace catamaran {
namespace {

void Train(const std::string& directory) {
  FileSystem& fs = PosixFileSystem();
  const test::KilledModel model;
  const auto lock = LockState(fs, directory);
  std::unique_ptr<State> state;
  std::unique_ptr<CommitCoordinator> commits;
  if (HasState(fs, directory)) {
    LoadedState loaded = LoadState(fs, directory, model.flat());
    state = std::move(loaded.state);
    commits = MakeCommits(fs, directory, model.flat(), *state, loaded);
  } else {
    state = State::Create(model.flat(), test::kKilledSeed);
    commits = MakeCommits(fs, directory, model.flat(), *state);
  }
  while (true) {
    const bool beside = state->step() % 3 != 0;
    if (beside) commits->StartCommit();
    for (int i = 0; i < 4; ++i) model.Step(*state);
    if (beside) {
      commits->Wait();
    } else {
      commits->Commit();
    }
    std::puts("commit");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace catamaran

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    catamaran::Train(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// commit/coordinator.cc

#include "catamaran/commit/coordinator.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/background.h"
#include "catamaran/base/clock.h"
#include "catamaran/base/cpu.h"
#include "catamaran/base/error.h"

namespace catamaran {
namespace {

class Turn {
 public:
  explicit Turn(const State& state) : state_(state) { state_.TakeTurn(); }
  ~Turn() { state_.GiveTurn(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const State& state_;
};

std::map<std::string, std::string> InfoOf(const CommitOptions& options) {
  std::map<std::string, std::string> info = options.info;
  info.emplace("build", CATAMARAN_VERSION);
  info.emplace("isa", IsaName(DetectIsa()));
  return info;
}

}  // namespace

// A commit from its cut to its end.
struct CommitCoordinator::Running {
  CommitManifest manifest;
  CommitResult result;
  int64_t cut_at = 0;
  std::exception_ptr error;
  std::thread thread;
};

CommitCoordinator::CommitCoordinator(FileSystem& fs, std::string directory, State& state,
                                     CommitOptions options)
    : fs_(fs),
      directory_(std::move(directory)),
      state_(state),
      options_(std::move(options)),
      saver_(state) {
  if (options_.keep < 1) Fail("{}: at least 1 commit stays; found {}", directory_, options_.keep);
  fs_.MakeDirectories(directory_);
  FoundCommits found = FindCommits(fs_, directory_);
  next_commit_ = found.highest + 1;  // no file has it
  for (FoundCommit& commit : found.commits) {
    if (commit.damage.empty()) history_.push_back(std::move(commit));
  }
}

CommitCoordinator::~CommitCoordinator() {
  if (started_ && started_->thread.joinable()) started_->thread.join();
  StopCompaction();
}

void CommitCoordinator::Add(std::unique_ptr<CommitParticipant> participant) {
  for (const auto& other : participants_) {
    CATAMARAN_CHECK(other->name() != participant->name(), "two participants '{}'", other->name());
  }
  participants_.push_back(std::move(participant));
}

void CommitCoordinator::ContinueFrom(uint64_t loaded) {
  const FoundCommits found = FindCommits(fs_, directory_);
  std::set<std::string> needed;
  uint64_t newest_manifest = 0;
  bool all_read = true;
  for (const FoundCommit& commit : found.commits) {
    AddNames(commit, needed);
    newest_manifest = std::max(newest_manifest, commit.commit);
    all_read &= commit.damage.empty();
  }
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(history_, [&](const FoundCommit& commit) { return commit.commit > loaded; });
    if (history_.empty() || history_.front().commit != loaded) {
      Fail("{}: there is no commit {} to continue from", directory_, loaded);
    }
    readers_ = history_.front().manifest.readers;
  }
  // A manifest that cannot be read may still be repaired by somebody: what it might name stays.
  if (!all_read) {
    try {
      for (const std::string& name : fs_.List(directory_)) {
        if (CommitOfName(name).value_or(0) <= newest_manifest) needed.insert(name);
      }
    } catch (const Error&) {
      return;
    }
  }
  RemoveUnused(fs_, directory_, [&] { return needed; });
}

CommitResult CommitCoordinator::Commit(const Positions& positions) {
  if (started_) Fail("{}: a commit was started; Wait for it first", directory_);
  Running running;
  running.manifest.positions = positions;
  Cut(running);
  Write(running);
  EndAll(running.manifest.commit, running.error == nullptr);
  return Finish(running);
}

uint64_t CommitCoordinator::StartCommit(const Positions& positions) {
  if (started_) Fail("{}: a commit was started; Wait for it first", directory_);
  auto running = std::make_unique<Running>();
  running->manifest.positions = positions;
  Cut(*running);
  started_ = std::move(running);
  in_progress_.store(true, std::memory_order_release);
  const auto write = [this] {
    Write(*started_);
    EndAll(started_->manifest.commit, started_->error == nullptr);
    in_progress_.store(false, std::memory_order_release);
  };
  try {
    started_->thread = StartBackground(write);
  } catch (const std::exception&) {
    write();  // no thread for it: the cut has been made, so it is written here and now
  }
  return started_->manifest.commit;
}

CommitResult CommitCoordinator::Wait() {
  if (!started_) Fail("{}: no commit was started", directory_);
  if (started_->thread.joinable()) started_->thread.join();
  const std::unique_ptr<Running> running = std::move(started_);
  return Finish(*running);
}

void CommitCoordinator::Cut(Running& running) {
  CommitManifest& manifest = running.manifest;
  manifest.commit = next_commit_++;
  manifest.info = InfoOf(options_);
  size_t cut = 0;
  try {
    const Turn turn(state_);
    const int64_t begin = SteadyClock().Now();
    try {
      for (const auto& participant : participants_) {
        participant->Cut(manifest.commit);
        ++cut;
      }
    } catch (...) {
      for (size_t i = 0; i < cut; ++i) participants_[i]->End(manifest.commit, false);
      throw;
    }
    manifest.step = state_.step();
    manifest.event_time = state_.event_time();
    running.cut_at = SteadyClock().Now();
    running.result = {manifest.commit, manifest.step, running.cut_at - begin, 0};
  } catch (const Error& error) {
    Fail("{}: commit {} could not begin: {}", directory_, manifest.commit, error.what());
  }
}

void CommitCoordinator::Write(Running& running) {
  CommitManifest& manifest = running.manifest;
  try {
    const uint64_t oldest_reader = OldestReader(manifest.commit);
    {
      const std::lock_guard lock(mutex_);
      manifest.readers = readers_;
    }
    for (const auto& participant : participants_) {
      manifest.parts.push_back(participant->Prepare(manifest.commit, oldest_reader));
      CATAMARAN_CHECK(manifest.parts.back().name == participant->name(), "a part's own name");
    }
    fs_.SyncDirectory(directory_);
    WriteFileAtomically(fs_, JoinPath(directory_, CommitManifestName(manifest.commit)),
                        FormatCommitManifest(manifest));
  } catch (...) {
    running.error = std::current_exception();
    RemoveFilesOf(fs_, directory_, manifest.commit);
    return;
  }
  running.result.prepare_ns = SteadyClock().Now() - running.cut_at;
  Succeed(manifest);
}

void CommitCoordinator::Succeed(const CommitManifest& manifest) {
  {
    const std::lock_guard lock(mutex_);
    history_.push_front(
        {manifest.commit, CommitManifestName(manifest.commit), false, manifest, ""});
    while (history_.size() > static_cast<size_t>(options_.keep)) history_.pop_back();
  }
  RemoveUnused(fs_, directory_, [this] { return NamesInUse(); });
}

void CommitCoordinator::EndAll(uint64_t commit, bool kept) {
  const Turn turn(state_);
  for (const auto& participant : participants_) participant->End(commit, kept);
}

CommitResult CommitCoordinator::Finish(Running& running) {
  if (running.error) {
    const uint64_t before = newest().commit;
    try {
      std::rethrow_exception(running.error);
    } catch (const std::exception& error) {
      Fail(CodeOf(error),
           "{}: commit {} failed: {}. {}; the next commit will hold what this one held", directory_,
           running.manifest.commit, DescribeError(error),
           before == 0 ? "No commit was made before"
                       : fmt::format("Commit {} stays as it is", before));
    }
  }
  if (options_.compact) StartCompaction();
  return running.result;
}

void CommitCoordinator::Compact() {
  StopCompaction();
  if (started_) Fail("{}: a commit was started; Wait for it first", directory_);
  const std::atomic<bool> never = false;
  for (const auto& participant : participants_) participant->Compact(never);
}

void CommitCoordinator::StartCompaction() {
  if (compacting_.load(std::memory_order_acquire)) return;
  StopCompaction();
  compacting_.store(true, std::memory_order_release);
  const auto compact = [this] {
    for (const auto& participant : participants_) {
      if (stop_compacting_.load(std::memory_order_relaxed)) break;
      try {
        participant->Compact(stop_compacting_);
      } catch (const std::exception&) {
        // A chain that stays long is no harm; it is tried again after the next commit, and a disk
        // that is full or broken is what that commit will speak of.
      }
    }
    compacting_.store(false, std::memory_order_release);
  };
  try {
    compactor_ = StartBackground(compact);
  } catch (const std::exception&) {
    // No thread for it: it is tried again after the next commit.
    compacting_.store(false, std::memory_order_release);
  }
}

void CommitCoordinator::StopCompaction() {
  if (!compactor_.joinable()) return;
  stop_compacting_.store(true, std::memory_order_relaxed);
  compactor_.join();
  stop_compacting_.store(false, std::memory_order_relaxed);
}

std::set<std::string> CommitCoordinator::NamesInUse() const {
  std::set<std::string> names;
  for (const auto& participant : participants_) {
    for (std::string& name : participant->FilesToCome()) names.insert(std::move(name));
  }
  const std::lock_guard lock(mutex_);
  for (const FoundCommit& commit : history_) AddNames(commit, names);
  return names;
}

CommitManifest CommitCoordinator::newest() const {
  const std::lock_guard lock(mutex_);
  return history_.empty() ? CommitManifest{} : history_.front().manifest;
}

uint64_t CommitCoordinator::OldestReader(uint64_t commit) const {
  uint64_t oldest = commit;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, has] : readers_) {
    if (commit - std::min(has, commit) <= options_.max_reader_lag) oldest = std::min(oldest, has);
  }
  return oldest;
}

void CommitCoordinator::SetReader(const std::string& name, uint64_t commit) {
  const std::lock_guard lock(mutex_);
  const uint64_t newest = history_.empty() ? 0 : history_.front().commit;
  if (commit > newest) {
    Fail("{}: reader '{}' says that it has commit {}; the newest is {}", directory_, name, commit,
         newest);
  }
  readers_[name] = commit;
}

void CommitCoordinator::RemoveReader(const std::string& name) {
  const std::lock_guard lock(mutex_);
  readers_.erase(name);
}

}  // namespace catamaran

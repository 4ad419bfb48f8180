// serve/learn/learner_commit.cc: commits, what of the log they need, and the way back to them.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/commit/bytes_participant.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/data/features/features_record.h"
#include "catamaran/serve/guarded.h"
#include "catamaran/serve/learn/learner.h"
#include "catamaran/serve/model/load_model.h"

namespace catamaran {
namespace {

// Of all files below; those that go meanwhile do not count.
uint64_t BytesBelow(const FileSystem& fs, const std::string& directory) {
  uint64_t bytes = 0;
  for (const std::string& name : fs.List(directory)) {
    const std::string path = JoinPath(directory, name);
    try {
      bytes += fs.IsDirectory(path) ? BytesBelow(fs, path) : fs.OpenRead(path)->size();
    } catch (const Error&) {
    }
  }
  return bytes;
}

}  // namespace

// Leaves the log what the commits, and one more of them, leave of disk_max_bytes. A commit counts
// as the mean of those that are kept.
void Learner::ShareDisk() {
  if (settings_.disk_max_bytes == 0) return;
  const uint64_t state = BytesBelow(*model_.fs, state_directory_);
  const size_t commits =
      std::max<size_t>(1, FindCommits(*model_.fs, state_directory_).commits.size());
  const uint64_t used = state + state / commits;
  // 1: nothing more, where 0 would be no quota.
  uint64_t log = settings_.disk_max_bytes > used ? settings_.disk_max_bytes - used : 1;
  if (settings_.log.max_bytes > 0) log = std::min(log, settings_.log.max_bytes);
  log_->SetMaxBytes(log);
}

// The files of a commit are there, and it does not count yet: an Error if there is no room for it.
void Learner::CheckDisk() const {
  if (settings_.disk_max_bytes == 0) return;
  const uint64_t used = BytesBelow(*model_.fs, state_directory_) + log_->stats().bytes;
  if (used <= settings_.disk_max_bytes) return;
  throw LogFull(fmt::format("{}: no commit: with it there were {} bytes, and the quota is {}",
                            model_.directory, used, settings_.disk_max_bytes));
}

void Learner::MakeCoordinator(const LoadedState* loaded) {
  CommitOptions options;
  options.keep = settings_.keep_commits;
  options.info["threads"] = std::to_string(settings_.threads);
  if (!model_.features_record.empty()) options.info[kFeaturesRecord] = model_.features_record;
  commits_ =
      loaded != nullptr
          ? MakeCommits(*model_.fs, state_directory_, *model_.flat, *state_, *loaded, options)
          : MakeCommits(*model_.fs, state_directory_, *model_.flat, *state_, options);
  // A batch's boundary is in the log before the commit that has its step comes about.
  commits_->Add(std::make_unique<BytesParticipant>(
      *model_.fs, state_directory_, std::string(kLearnerPartName),
      BytesParticipant::Source{[this] { return CutBytes(); },
                               [this] {
                                 CheckDisk();
                                 log_->WaitDurable(cut_position_);
                               }}));
  newest_commit_ = loaded != nullptr ? loaded->commit : 0;
  newest_commit_step_ = state_->step();
}

// The log that a commit belongs to, how far it was read, and from where on it is still needed.
Positions Learner::PositionsNow() const {
  const ExampleStream& stream = applier_->stream();
  return {{kLogPosition, std::to_string(stream.position())},
          {kLogIdPosition, fmt::format("{:016x}", log_->id())},
          {kLogNeededPosition, std::to_string(stream.OldestNeeded())}};
}

std::string Learner::CutBytes() {
  const ExampleStream& stream = applier_->stream();
  cut_position_ = stream.position();
  cut_oldest_ = stream.OldestNeeded();
  return FormatLearnerPart({stream.Save(), applier_->window().Save(), applier_->drift().Save()});
}

void Learner::LoadBytes(const CommitPart& part, ExampleStream& stream, LogApplier* applier) const {
  const LearnerPart saved = ParseLearnerPart(ReadBytesPart(*model_.fs, state_directory_, part),
                                             JoinPath(state_directory_, part.files.at(0).name));
  stream.Load(saved.stream);
  if (applier == nullptr) return;
  applier->window().Load(saved.window);
  applier->drift().Load(saved.drift);
}

// Also an older commit may be what a later start finds whole: the log stays from there on.
void Learner::HoldForKeptCommits() {
  for (const FoundCommit& found : FindCommits(*model_.fs, state_directory_).commits) {
    const CommitPart* part = found.manifest.Find(kLearnerPartName);
    if (part == nullptr) continue;
    if (const auto needed = NumberIn(found.manifest.positions, kLogNeededPosition, 10)) {
      needed_by_commit_[found.commit] = *needed;
      continue;
    }
    try {
      ExampleStream stream;
      LoadBytes(*part, stream, nullptr);
      needed_by_commit_[found.commit] = stream.OldestNeeded();
    } catch (const Error& error) {
      // No start uses a damaged commit. A whole one must keep the log that it needs.
      if (error.code() == ErrorCode::kResourceExhausted) throw;
    }
  }
  HoldLog();
}

void Learner::HoldLog() {
  while (needed_by_commit_.size() > static_cast<size_t>(settings_.keep_commits)) {
    needed_by_commit_.erase(needed_by_commit_.begin());
  }
  LogOffset oldest = log_->end();
  for (const auto& [commit, needed] : needed_by_commit_) oldest = std::min(oldest, needed);
  log_->Hold("learner", std::max(oldest, log_->begin()));
}

// Whether a commit now has all that the request waits for, or all that there can be.
bool Learner::IsWhole(const CommitRequest& request) const {
  const ExampleStream& stream = applier_->stream();
  if (!request.examples) return false;
  return stream.counts().examples >= *request.examples || stream.paused() || append_again_at_ != 0;
}

bool Learner::CommitDue(int64_t now) const {
  if (!commit_requests_.empty()) return IsWhole(commit_requests_.front());
  if (changes_ == last_commit_changes_) return false;
  const int64_t steps = applier_->stream().counts().steps - last_commit_steps_;
  if (settings_.commit_steps > 0 && steps >= settings_.commit_steps) return true;
  return settings_.commit_ns > 0 && now - last_commit_at_ >= settings_.commit_ns;
}

void Learner::CommitIfDue(int64_t now) {
  // It has taken a request's record since: there is room.
  if (append_again_at_ != 0 && log_->end() > full_at_) {
    append_again_at_ = 0;
    Resolved("log_full");
  }
  if (committing_ && !commits_->in_progress()) FinishCommit();
  for (CommitRequest& request : commit_requests_) {
    if (!request.examples && applier_->stream().position() >= request.target) {
      request.examples = applier_->stream().counts().examples + applier_->stream().waiting();
    }
  }
  if (committing_ || (rollback_ && rollback_->recorded) || !CommitDue(now)) return;
  StartCommit(now);
}

void Learner::StartCommit(int64_t now) {
  const ExampleStream& stream = applier_->stream();
  // Those who came after are in it only if all that they wait for is.
  while (!commit_requests_.empty() && IsWhole(commit_requests_.front())) {
    in_commit_.push_back(std::move(commit_requests_.front()));
    commit_requests_.pop_front();
  }
  last_commit_at_ = now;
  last_commit_steps_ = stream.counts().steps;
  last_commit_changes_ = changes_;
  try {
    commits_->StartCommit(PositionsNow());
    committing_ = true;
  } catch (const std::exception&) {
    last_commit_changes_ = -1;  // it is due again
    const Status status = StatusOfException();
    Problem("commit_failed", status.message);
    for (CommitRequest& request : std::exchange(in_commit_, {})) request.done(status, {});
  }
}

void Learner::FinishCommit() {
  committing_ = false;
  Status status;
  CommitReply reply;
  try {
    const CommitResult result = commits_->Wait();
    Committed(result);
    reply = {result.commit, result.step, cut_position_};
  } catch (const std::exception&) {
    status = StatusOfException();
    last_commit_changes_ = -1;  // it is due again
    Problem("commit_failed", status.message);
  }
  UpdateStatus();
  for (CommitRequest& request : std::exchange(in_commit_, {})) request.done(status, reply);
}

void Learner::Resolved(const char* event) {
  const std::lock_guard lock(status_mutex_);
  if (!problems_.Resolve(event, clock_.Now())) return;
  status_.problem = problems_.current();
  status_.past_problem = problems_.past();
  status_.past_problem_ns = problems_.past_ns();
}

void Learner::Committed(const CommitResult& result) {
  // What it holds is what the commits that failed, or were damaged, would have held.
  Resolved("commit_failed");
  Resolved("damaged_commit");
  newest_commit_ = result.commit;
  newest_commit_step_ = result.step;
  needed_by_commit_[result.commit] = cut_oldest_;
  if (std::exchange(to_be_verified_, false)) DamageIsPassed(*model_.fs, model_.directory);
  const CommitNoteRecord note{result.commit, result.step, cut_position_};
  TryAppend(RecordType::kCommitNote, applier_->stream().clock_ns(), Encode(note));
  HoldLog();
  model_.log->Write(LogLevel::kInfo, "commit", model_.name,
                    {{"commit", result.commit},
                     {"step", result.step},
                     {"log_offset", cut_position_},
                     {"seconds", static_cast<double>(steady_.Now() - last_commit_at_) * 1e-9}});
  // The age of a record is one of the clock that has stamped it.
  const int64_t now = settings_.event_clock ? applier_->stream().clock_ns() : clock_.Now();
  const int64_t oldest = settings_.retain_ns > 0 ? now - settings_.retain_ns : 0;
  if (settings_.retain_bytes > 0 || settings_.retain_ns > 0) {
    log_->Retain(settings_.retain_bytes, oldest);
  }
  ShareDisk();
}

std::vector<std::pair<uint64_t, int64_t>> Learner::Commits() const {
  std::vector<std::pair<uint64_t, int64_t>> commits;
  for (const FoundCommit& found : FindCommits(*model_.fs, state_directory_).commits) {
    if (found.damage.empty() && found.manifest.Find(kLearnerPartName) != nullptr) {
      commits.emplace_back(found.commit, found.manifest.step);
    }
  }
  return commits;
}

// Once all steps that are in the log are applied, and no commit is under way.
void Learner::BeginRollback() {
  if (!rollback_ || rollback_->recorded || scheduled_steps_ > 0 || committing_) return;
  const auto refuse = [&](StatusCode code, const std::string& why) {
    std::exchange(rollback_, {})->done({code, why}, {});
  };
  const ExampleStream& stream = applier_->stream();
  RollbackRecord record;
  try {
    const FoundCommits commits = FindCommits(*model_.fs, state_directory_);
    const auto found =
        std::find_if(commits.commits.begin(), commits.commits.end(),
                     [&](const FoundCommit& commit) { return commit.commit == rollback_->commit; });
    const CommitPart* part =
        found == commits.commits.end() ? nullptr : found->manifest.Find(kLearnerPartName);
    if (part == nullptr) {
      return refuse(StatusCode::kNotFound,
                    fmt::format("there is no commit {} to go back to", rollback_->commit));
    }
    ExampleStream then;
    LoadBytes(*part, then, nullptr);
    const StreamCounts &counts = stream.counts(), &before = then.counts();
    record = {rollback_->commit,
              found->manifest.step,
              then.position(),
              before.steps + 1,
              counts.steps,
              counts.examples - before.examples,
              counts.skipped_steps - before.skipped_steps,
              counts.skipped_examples - before.skipped_examples};
  } catch (const std::exception&) {
    const Status status = StatusOfException();
    return refuse(status.code, status.message);
  }
  if (!TryAppend(RecordType::kRollback, stream.clock_ns(), Encode(record))) {
    return refuse(StatusCode::kResourceExhausted, "the log has no room for the record of it");
  }
  rollback_->recorded = true;
}

void Learner::ApplyRollback(const RollbackRecord& record) {
  LoadOptions load;
  load.commit = record.commit;
  load.match.allow_new = model_.config.allow_new;
  load.match.allow_missing = model_.config.allow_missing;
  LoadedState loaded = LoadState(*model_.fs, state_directory_, *model_.flat, load);
  mover_.reset();
  commits_.reset();
  {
    const std::lock_guard lock(state_mutex_);
    state_ = std::move(loaded.state);
  }
  MakeCoordinator(&loaded);
  // The commits in between go with the next one, which has what the log says of this.
  last_commit_at_ = steady_.Now();
  last_commit_steps_ = applier_->stream().counts().steps;
  Status status;
  try {
    Committed(commits_->Commit(PositionsNow()));
    last_commit_changes_ = changes_;
  } catch (const Error& error) {
    // The log has it: after a crash it is done again.
    Problem("commit_failed", error.what());
  }
  model_.log->Write(LogLevel::kWarning, "rollback", model_.name,
                    {{"commit", record.commit},
                     {"step", record.commit_step},
                     {"skipped_steps", record.last_step - record.first_step + 1},
                     {"skipped_examples", record.examples}});
  if (!rollback_ || !rollback_->recorded) return;
  UpdateStatus();
  RollbackReply reply{record.commit, record.commit_step, record.last_step - record.first_step + 1,
                      record.examples};
  std::exchange(rollback_, {})->done(status, reply);
}

}  // namespace catamaran

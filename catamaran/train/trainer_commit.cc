// What a trainer keeps: commits, the best of them, the report.

#include "catamaran/base/error.h"
#include "catamaran/train/commit_copy.h"
#include "catamaran/train/report.h"
#include "catamaran/train/trainer.h"

namespace catamaran {

void Trainer::CommitIfDue() {
  if (!commits_) return;
  if (committing_ && !commits_->in_progress()) EndStartedCommit();
  const int64_t batches = counters_.batches - last_commit_batches_;
  if (batches == 0) return;
  const bool by_steps = options_.commit_every > 0 && batches >= options_.commit_every;
  const bool by_time = options_.commit_every_ns > 0 &&
                       SteadyClock().Now() - last_commit_at_ >= options_.commit_every_ns;
  if (!by_steps && !by_time) return;
  if (committing_) {
    if (!by_steps) return;
    EndStartedCommit();
  }
  StartCommit();
}

void Trainer::StartCommit() {
  const ProfilePhase phase(options_.profile, "committing");
  log_->Sync();
  commits_->StartCommit(PositionsNow());
  committing_ = true;
  last_commit_batches_ = counters_.batches;
  last_commit_at_ = SteadyClock().Now();
}

void Trainer::EndStartedCommit() {
  if (!committing_) return;
  committing_ = false;
  const ProfilePhase phase(options_.profile, "committing");
  try {
    const CommitResult result = commits_->Wait();
    if (hooks_.after_commit) hooks_.after_commit(result);
  } catch (const Error& error) {
    // The one before stays, and the next one holds what this one held.
    if (hooks_.warning) hooks_.warning(error.what());
  }
}

void Trainer::Commit() {
  if (!commits_) return;
  EndStartedCommit();
  const ProfilePhase phase(options_.profile, "committing");
  log_->Sync();
  const CommitResult result = commits_->Commit(PositionsNow());
  last_commit_batches_ = counters_.batches;
  last_commit_at_ = SteadyClock().Now();
  if (hooks_.after_commit) hooks_.after_commit(result);
}

void Trainer::Keep() {
  try {
    if (counters_.batches > last_commit_batches_) Commit();
    WriteReport();
  } catch (const Error& error) {
    if (hooks_.warning) hooks_.warning(error.what());
  }
}

void Trainer::KeepBest() { CopyCommit(fs_, latest(), commits_->newest().commit, best()); }

void Trainer::WriteReport() {
  if (options_.out.empty()) return;
  ReportFacts facts;
  facts.title = flat_.name;
  facts.best_metric = best_metric_;
  facts.best_is_higher = best_is_higher_;
  for (const auto& [name, value] : counters_.settings) facts.settings.emplace_back(name, value);
  const std::string path = JoinPath(options_.out, "metrics.jsonl");
  WriteFileAtomically(fs_, JoinPath(options_.out, "report.html"),
                      MakeReport(facts, ReadMetrics(fs_, path)));
}

}  // namespace catamaran

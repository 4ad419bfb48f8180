// commit/table_participant.cc

#include "catamaran/commit/table_participant.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/committed_table.h"
#include "catamaran/commit/stoppable_files.h"
#include "catamaran/table/files/row_chain.h"
#include "catamaran/table/files/row_file.h"

namespace catamaran {
namespace {

constexpr std::string_view kPrefix = "table ";

CommitFile FileOf(std::string name, const RowFileMark& mark, uint64_t from, uint64_t to) {
  return {std::move(name), mark.size, mark.root, from, to};
}

}  // namespace

std::string TablePart(std::string_view path) { return std::string(kPrefix) + std::string(path); }

std::string_view TableOfPart(std::string_view part) {
  return part.starts_with(kPrefix) ? part.substr(kPrefix.size()) : std::string_view();
}

TableParticipant::TableParticipant(FileSystem& fs, std::string directory, std::string_view path,
                                   DurableTable& table, CommitPart loaded)
    : fs_(fs),
      directory_(std::move(directory)),
      path_(path),
      name_(TablePart(path)),
      table_(table),
      chain_(std::move(loaded.files)),
      kept_(std::move(loaded.kept)) {
  if (!chain_.empty()) newest_ = chain_.back().to;
}

TableParticipant::~TableParticipant() {
  if (cut_) table_.EndCut(std::move(cut_), false);
}

void TableParticipant::Cut(uint64_t /*commit*/) { cut_ = table_.Cut(/*full=*/newest_ == 0); }

CommitPart TableParticipant::Prepare(uint64_t commit, uint64_t oldest_reader) {
  RowFileHead head;
  head.config = table_.config();
  head.full = cut_->full();
  head.since = head.full ? 0 : static_cast<int64_t>(newest_);
  head.commit = static_cast<int64_t>(commit);
  const uint64_t from = head.full ? 0 : newest_;
  std::string name = RowFileName(path_, from, commit);
  const std::atomic<bool> never = false;
  StoppableFiles files(fs_, never);
  const RowFileMark mark = WriteCut(files, JoinPath(directory_, name), head, *cut_);
  std::vector<std::string> directories;
  uint64_t cold_bytes = 0;
  if (table_.keeps_cold_rows()) {
    directories.push_back(ColdDirectoryName(path_, commit));
    table_.SaveColdRows(JoinPath(directory_, directories.back()));
    cold_bytes = static_cast<uint64_t>(table_.Info().bytes_on_disk);
  }
  const std::lock_guard lock(mutex_);
  added_ = FileOf(std::move(name), mark, from, commit);
  Prune(oldest_reader, cold_bytes);
  CommitPart part{name_, chain_, kept_, std::move(directories)};
  if (from == 0) part.files.clear();
  part.files.push_back(added_);
  return part;
}

void TableParticipant::End(uint64_t commit, bool kept) {
  if (cut_) table_.EndCut(std::move(cut_), kept);
  const std::lock_guard lock(mutex_);
  if (kept) {
    if (added_.from == 0) chain_.clear();
    chain_.push_back(added_);
    newest_ = commit;
  }
  added_ = {};
}

void TableParticipant::Prune(uint64_t oldest_reader, uint64_t cold_bytes) {
  std::erase_if(kept_, [&](const CommitFile& file) { return file.to <= oldest_reader; });
  // Changes that are larger than the whole help nobody: it is quicker to begin anew.
  const uint64_t most = (chain_.empty() ? 0 : chain_.front().size) + cold_bytes;
  uint64_t bytes = 0;
  size_t first = kept_.size();
  while (first > 0 && bytes + kept_[first - 1].size <= most) bytes += kept_[--first].size;
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(first));
}

void TableParticipant::Compact(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed) && CompactOnce(stop)) {
  }
}

bool TableParticipant::CompactOnce(const std::atomic<bool>& stop) {
  std::vector<CommitFile> merged;
  CompactionPlan plan;
  {
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t> sizes;
    for (const CommitFile& file : chain_) sizes.push_back(file.size);
    plan = PlanCompaction(sizes);
    if (plan.first >= plan.last) return false;
    merged.assign(chain_.begin() + static_cast<ptrdiff_t>(plan.first),
                  chain_.begin() + static_cast<ptrdiff_t>(plan.last));
    merging_ = RowFileName(path_, merged.front().from, merged.back().to);
  }
  const std::string path = JoinPath(directory_, merging_);
  RowFileMark mark;
  try {
    std::vector<RowFileRef> files;
    for (const CommitFile& file : merged) {
      files.push_back(OpenRowFile(fs_, directory_, file));
    }
    StoppableFiles files_out(fs_, stop);
    mark = plan.first == 0 ? CompactChain(files_out, path, RowChain(files))
                           : MergeChanges(files_out, path, files);
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      merging_.clear();
    }
    try {
      fs_.Remove(path);
    } catch (const Error&) {
      // It was never made, or stays until the next commit cleans up.
    }
    if (stop.load(std::memory_order_relaxed)) return false;
    throw;
  }
  const std::lock_guard lock(mutex_);
  // Commits have added files at the end meanwhile, or put a full one in the place of all.
  const auto first = std::find(chain_.begin(), chain_.end(), merged.front());
  if (first != chain_.end()) {
    const auto last = first + static_cast<ptrdiff_t>(merged.size());
    // Changes that were merged with others still serve every reader; those that went into the full
    // file serve readers no more.
    if (plan.first == 0) kept_.insert(kept_.end(), first + 1, last);
    *first = FileOf(merging_, mark, merged.front().from, merged.back().to);
    chain_.erase(first + 1, last);
  }
  merging_.clear();
  return first != chain_.end();
}

std::vector<std::string> TableParticipant::FilesToCome() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const CommitFile& file : chain_) names.push_back(file.name);
  for (const CommitFile& file : kept_) names.push_back(file.name);
  if (!added_.name.empty()) names.push_back(added_.name);
  if (!merging_.empty()) names.push_back(merging_);
  return names;
}

}  // namespace catamaran

// table/files/row_chain.h
//
// A chain of row files is a table at a commit: a full file, and over it changes, each since the
// commit of the one before or an earlier one. The newest word on a key counts, so changes may
// overlap: what they repeat is what was there already.
//
// What a chain of files can be turned into, all by merging sorted files in one pass with a few
// megabytes of memory:
//   CompactChain    a full file in its place
//   MergeChanges    one file of changes in the place of several
//   WriteIncrement  what a reader that is at commit C needs to be where the chain is
//   DiffChains      what is different between two of them

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/files/row_file.h"

namespace catamaran {

class SavedColdRows;  // cold_rows.h

using RowFileRef = std::shared_ptr<const RowFile>;

// Thread safety: all methods may be called concurrently.
class RowChain final : public RowBacking {
 public:
  // An Error if they are no chain: the first must be full, the others changes that leave no gap,
  // all of one kind of table. REQUIRES: records for training.
  explicit RowChain(std::vector<RowFileRef> files);

  const std::vector<RowFileRef>& files() const { return files_; }
  int64_t commit() const { return files_.back()->head().commit; }
  const TableConfig& config() const { return files_.back()->config(); }  // the newest

  const uint32_t* Find(uint64_t key, RowClass* c) const override;
  void Scan(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass c, const uint32_t* record)> visit) const override;
  // At no cost if the newest file knows (RowFileHead::total_rows), else all keys were counted when
  // the chain was made.
  int64_t num_rows(RowClass c) const override { return num_rows_[static_cast<size_t>(c)]; }
  const TableExtras& extras() const override { return files_.back()->extras(); }

  // RowFile::Verify of every file; and that no two of them contradict num_rows.
  void Verify() const;

 private:
  std::vector<RowFileRef> files_;
  std::array<int64_t, kRowClasses> num_rows_{};
};

// An Error unless each file is changes that can be put over the one before.
void CheckOverlaps(std::span<const RowFileRef> files);

// Rows of each class in a chain, counted: reads all changes, and of the full file what they hide.
std::array<int64_t, kRowClasses> CountRows(std::span<const RowFileRef> files);

// A full file of what the chain holds, and of the cold rows beneath it (durable_table.h), if given.
// As WriteCut it is on disk when this returns, but for its name.
RowFileMark CompactChain(FileSystem& fs, const std::string& path, const RowChain& chain,
                         const SavedColdRows* cold = nullptr);

// One file of changes from `changes.front()`'s `since` to `changes.back()`'s commit. An Error
// unless they are changes that leave no gap.
RowFileMark MergeChanges(FileSystem& fs, const std::string& path,
                         std::span<const RowFileRef> changes);

// What a reader at commit `since` gets from the files that are kept.
struct IncrementPlan {
  // It cannot be brought up to date by changes and has to take a full file: it is older than what
  // is kept, or from a future that never was. `why` says which.
  bool resync = false;
  std::string why;
  // Else these files, oldest first, hold all that changed since; none if nothing did. They may
  // begin before `since`: what they say of the time before is what the reader has already.
  std::vector<RowFileRef> changes;
};
// `kept`: full files and changes in any order.
IncrementPlan PlanIncrement(std::span<const RowFileRef> kept, int64_t since);

// The same as one file, with `since` as its head's. False and no file when the reader has to
// resync (`why` says the reason). Where a table keeps cold rows elsewhere (durable_table.h), `cold`
// holds them at the newest commit: a key that has gone from the files to there has a row still.
bool WriteIncrement(FileSystem& fs, const std::string& path, std::span<const RowFileRef> kept,
                    int64_t since, std::string* why, RowFileMark* mark,
                    const SavedColdRows* cold = nullptr);

// Calls `visit` for every key that the two do not say the same of, in ascending order of hash.
// A record is null where the key has none. REQUIRES: equal layouts and seeds (an Error if not).
struct RowDifference {
  uint64_t key = 0;
  RowClass class_a{}, class_b{};
  const uint32_t* a = nullptr;
  const uint32_t* b = nullptr;
};
void DiffChains(const RowChain& a, const RowChain& b,
                FunctionRef<void(const RowDifference& difference)> visit);

// Which files of a chain to merge now, given their sizes in bytes, the full one first: [first,
// last) become one, with CompactChain if first is 0, else with MergeChanges; nothing if they are
// equal. Asked after every commit, it keeps a chain at no more than kMaxChainFiles files and at no
// more than 1.5 times the bytes of the full file. A byte of changes is written about 7 times in all
// where a commit changes 1 % of the table, 25 times where it changes a millionth.
struct CompactionPlan {
  size_t first = 0, last = 0;
};
inline constexpr size_t kMaxChainFiles = 8;
CompactionPlan PlanCompaction(std::span<const uint64_t> sizes);

}  // namespace catamaran

// commit/table_participant.h
//
// A table in a commit: a chain of row files (table/files/row_chain.h), one with all rows and, over
// it, one a commit with what changed; and a copy of the rows that the table keeps on disk by
// itself, if it does. A commit costs what changed since the one before. Between commits chains are
// made shorter by merging files.
//
// Thread safety: as participant.h says; Compact may run at the same time as everything else.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/participant.h"
#include "catamaran/table/durable_table.h"

namespace catamaran {

// "table feat".
std::string TablePart(std::string_view path);
// "feat" for "table feat"; empty for other names.
std::string_view TableOfPart(std::string_view part);

class TableParticipant final : public CommitParticipant {
 public:
  // `loaded`: what the table was loaded from, or an empty part: then the first commit is a full
  // one. `fs` and `table` outlive this.
  TableParticipant(FileSystem& fs, std::string directory, std::string_view path,
                   DurableTable& table, CommitPart loaded = {});
  ~TableParticipant() override;

  const std::string& name() const override { return name_; }
  void Cut(uint64_t commit) override;
  CommitPart Prepare(uint64_t commit, uint64_t oldest_reader) override;
  void End(uint64_t commit, bool kept) override;
  void Compact(const std::atomic<bool>& stop) override;
  std::vector<std::string> FilesToCome() const override;

 private:
  bool CompactOnce(const std::atomic<bool>& stop);
  // With mutex_: forgets kept files that no reader needs, and those that are larger together than
  // the table, of which cold rows take `cold_bytes`.
  void Prune(uint64_t oldest_reader, uint64_t cold_bytes);

  FileSystem& fs_;
  const std::string directory_;
  const std::string path_;
  const std::string name_;
  DurableTable& table_;
  std::unique_ptr<TableCut> cut_;
  uint64_t newest_ = 0;  // the last commit that was kept

  mutable std::mutex mutex_;       // guards the rest
  std::vector<CommitFile> chain_;  // oldest first, up to `newest_`
  std::vector<CommitFile> kept_;   // replaced by compaction, still wanted by readers
  CommitFile added_;               // by the commit in progress; no name: none
  std::string merging_;            // the file that Compact is writing
};

}  // namespace catamaran

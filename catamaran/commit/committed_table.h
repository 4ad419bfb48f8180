// commit/committed_table.h
//
// The files of one table at a commit, opened: what a commit's manifest says of it, made readable.

#pragma once

#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/commit_manifest.h"
#include "catamaran/table/files/row_chain.h"

namespace catamaran {

struct CommittedTable {
  std::vector<RowFileRef> files;  // a chain, oldest first
  std::vector<RowFileRef> kept;   // older changes, which increments may need
  std::string cold;               // the directory of its cold rows; empty: it has none
};

// An Error that names the file if it is missing, damaged, or not the one of the commit.
RowFileRef OpenRowFile(const FileSystem& fs, const std::string& directory, const CommitFile& file,
                       bool verify_all = false);

// The files of a part that is a table's.
CommittedTable OpenCommittedTable(const FileSystem& fs, const std::string& directory,
                                  const CommitPart& part);
// The same by the table's name. An Error if the commit has no such table.
CommittedTable OpenCommittedTable(const FileSystem& fs, const std::string& directory,
                                  const CommitManifest& manifest, const std::string& table);

}  // namespace catamaran

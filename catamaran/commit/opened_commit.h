// commit/opened_commit.h
//
// The files of one commit, opened and checked; and the search for the newest commit that is whole.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/dense_participant.h"
#include "catamaran/commit/safetensors.h"
#include "catamaran/table/files/row_chain.h"

namespace catamaran {

struct OpenedCommit {
  FoundCommit found;
  SafetensorsFile dense;
  DenseSummary summary;
  std::map<std::string, std::shared_ptr<const RowChain>> tables;  // by path
  std::map<std::string, std::string> cold;  // path of a table to the directory of its cold rows
  SafetensorsFile first_format_rows;
  std::vector<std::string> warnings;  // commits that were passed over
};

// Opens one commit. An Error that names a file if it is not whole. `verify_rows`: every block of
// rows is checked too, not only what it takes to find them.
OpenedCommit OpenCommit(const FileSystem& fs, const std::string& directory,
                        const FoundCommit& found, bool verify_rows);

// The commit with that number. An Error if there is none, or it is not whole.
OpenedCommit OpenCommit(const FileSystem& fs, const std::string& directory, uint64_t number,
                        bool verify_rows);

// The newest that is whole. An Error that says why each is not if there is none.
OpenedCommit OpenNewestCommit(const FileSystem& fs, const std::string& directory, bool verify_rows);

}  // namespace catamaran

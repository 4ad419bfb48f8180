// commit/increments.h
//
// What changed in a table since a commit that a reader has, from the files of a newer one. Base
// and increments are the table at the newer commit, in any batching, wherever its rows lie; a
// reader that is too far behind is told to take the whole, never given less than all.
//
//   const CommittedTable table = OpenCommittedTable(fs, directory, manifest, "feat");
//   if (!WriteTableIncrement(fs, table, since, path, &why)) WriteTableSnapshot(fs, table, path);

#pragma once

#include <string>

#include "catamaran/base/file.h"
#include "catamaran/commit/committed_table.h"

namespace catamaran {

// Writes a row file with all that changed in the table after commit `since`, the deleted keys among
// it. False, and no file, if that cannot be told any more: `why` says the reason, and the reader
// has to begin anew with a full file (WriteTableSnapshot). An Error if files are damaged. SetReader
// of the coordinator keeps what a reader needs.
bool WriteTableIncrement(FileSystem& fs, const CommittedTable& table, uint64_t since,
                         const std::string& path, std::string* why);

// Writes a row file with all rows of the table.
void WriteTableSnapshot(FileSystem& fs, const CommittedTable& table, const std::string& path);

}  // namespace catamaran

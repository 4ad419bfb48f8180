// commit/increments.h
//
// What changed in a table since a commit that a reader has, from the files of a newer one. Base
// and increments are the table at the newer commit, in any batching; a reader that is too far
// behind is told to take the whole, never given less than all.

#pragma once

#include <string>

#include "catamaran/base/file.h"
#include "catamaran/commit/commit_manifest.h"

namespace catamaran {

// Writes a row file with all that changed in @table after commit `since` up to `manifest`, the
// deleted keys among it. False if that cannot be told any more: `why` says the reason, and the
// reader has to begin anew with a full file (WriteTableSnapshot). An Error if the commit has no
// such table, or its files are damaged. SetReader of the coordinator keeps what a reader needs.
bool WriteTableIncrement(FileSystem& fs, const std::string& directory,
                         const CommitManifest& manifest, const std::string& table, uint64_t since,
                         const std::string& path, std::string* why);

// Writes a row file with all rows of @table at `manifest`.
void WriteTableSnapshot(FileSystem& fs, const std::string& directory,
                        const CommitManifest& manifest, const std::string& table,
                        const std::string& path);

}  // namespace catamaran

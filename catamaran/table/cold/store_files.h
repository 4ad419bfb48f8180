// table/cold/store_files.h
//
// Directories of RocksDB files, handled as a whole. They hold files that are written once and
// never changed (*.sst), which may have several names, and small ones that are copied.
//
// These go past base/file.h, as RocksDB's own do: it has no hard links.
//
// Thread safety: free functions; one directory, one thread.

#pragma once

#include <string>

namespace catamaran {

// Removes whatever is at `directory` and makes it an empty one, with its parents.
void MakeEmptyDirectory(const std::string& directory);

// Makes `to`, which must be an empty directory, hold what `from` does: the unchanging files under
// another name where the file system can, else as copies; the others as copies.
void CloneStoreFiles(const std::string& from, const std::string& to);

// Returns when everything in `directory` would survive a loss of power.
void SyncStoreFiles(const std::string& directory);

// As far as it goes; never throws.
void RemoveDirectoryQuietly(const std::string& directory);

}  // namespace catamaran

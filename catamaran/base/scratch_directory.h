// base/scratch_directory.h
//
// A directory for files that belong to a running process and to nobody after it. It is removed
// with its owner; what a process that was killed left behind is removed by the next one that makes
// a scratch directory in the same place.
//
// Thread safety: different ones may be made and destroyed at the same time, by any processes.

#pragma once

#include <memory>
#include <string>

#include "catamaran/base/file.h"

namespace catamaran {

class ScratchDirectory {
 public:
  // Makes an empty directory in `parent`, which is made if missing. An Error if it cannot.
  ScratchDirectory(FileSystem& fs, const std::string& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  FileSystem& fs_;
  std::string path_;
  std::unique_ptr<FileLock> lock_;  // path_.lock: held as long as the owner lives
};

// Where the system keeps temporary files: $TMPDIR, or /tmp.
std::string SystemScratch();

}  // namespace catamaran

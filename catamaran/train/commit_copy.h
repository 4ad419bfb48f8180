// train/commit_copy.h
//
// One commit of a state directory in another directory, which then holds this state and no other:
// how the best state of a run is kept while training goes on.

#pragma once

#include <cstdint>
#include <string>

#include "catamaran/base/file.h"

namespace catamaran {

// Copies commit `commit` of the directory `from`; files that `to` has already are not written
// again. After a crash `to` holds the state from before, or the new one, whole. An Error if there
// is no such commit.
// REQUIRES: nobody commits to either of them meanwhile.
void CopyCommit(FileSystem& fs, const std::string& from, uint64_t commit, const std::string& to);

}  // namespace catamaran

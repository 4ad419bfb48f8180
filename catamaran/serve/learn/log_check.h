// serve/learn/log_check.h
//
// Whether the log of a model that learns and the newest commit beside it fit together, as they must
// for the model to start. It changes nothing; the model may be learning meanwhile.
//
// Thread safety: a function of the files.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/stream/log/log.h"

namespace catamaran {

struct LogCheck {
  uint64_t commit = 0;  // that the model would start from; 0: it has none
  LogOffset read = 0;   // the commit has learned from the log up to here
  // Why the model would not start, each with the name of a file or directory.
  std::vector<std::string> problems;
  // Commits that are damaged and would be passed over.
  std::vector<std::string> warnings;
};

// `directory` is the model's own: its commits are in `directory`/state, its log in `directory`/log.
LogCheck CheckLogOfModel(const FileSystem& fs, const std::string& directory);

// The model has a commit that does not say how far the log was read, and a log that is not empty.
[[noreturn]] void FailUnknownPosition(const std::string& state_directory, uint64_t commit);

}  // namespace catamaran

// data/files/input_paths.h
//
// Paths with wildcards.

#pragma once

#include <string>
#include <vector>

#include "catamaran/base/file.h"

namespace catamaran {

// Replaces each path that names no file and has one of * ? [ by the paths that it matches, sorted:
// within names, not across slashes; names that begin with a dot only where the pattern does. An
// Error for a pattern that matches nothing.
std::vector<std::string> ExpandPaths(const FileSystem& fs, const std::vector<std::string>& paths);

}  // namespace catamaran

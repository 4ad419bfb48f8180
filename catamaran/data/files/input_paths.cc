#include "catamaran/data/files/input_paths.h"

#include <fnmatch.h>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

bool HasWildcard(const std::string& text) { return text.find_first_of("*?[") != std::string::npos; }

// Adds the paths below `found` that the pattern's parts from `at` on match.
void Expand(const FileSystem& fs, const std::string& found, const std::string& pattern, size_t at,
            std::vector<std::string>* paths) {
  if (at >= pattern.size()) {
    if (fs.Exists(found)) paths->push_back(found);
    return;
  }
  const size_t slash = std::min(pattern.find('/', at), pattern.size());
  const std::string part = pattern.substr(at, slash - at);
  const size_t next = std::min(slash + 1, pattern.size());
  const auto below = [&](const std::string& name) {
    return found.empty() ? name : found.ends_with('/') ? found + name : found + "/" + name;
  };
  if (part.empty()) {
    Expand(fs, found.empty() ? "/" : found, pattern, next, paths);
    return;
  }
  if (!HasWildcard(part)) {
    Expand(fs, below(part), pattern, next, paths);
    return;
  }
  const std::string folder = found.empty() ? "." : found;
  if (!fs.IsDirectory(folder)) return;
  for (const std::string& name : fs.List(folder)) {
    if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) {
      Expand(fs, below(name), pattern, next, paths);
    }
  }
}

}  // namespace

std::vector<std::string> ExpandPaths(const FileSystem& fs, const std::vector<std::string>& paths) {
  std::vector<std::string> expanded;
  for (const std::string& path : paths) {
    if (!HasWildcard(path) || fs.Exists(path)) {
      expanded.push_back(path);
      continue;
    }
    const size_t before = expanded.size();
    Expand(fs, "", path, 0, &expanded);
    if (expanded.size() == before) Fail("{}: no file matches", path);
  }
  return expanded;
}

}  // namespace catamaran

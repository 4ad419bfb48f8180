#include "catamaran/base/scratch_directory.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr std::string_view kPrefix = "scratch-";
constexpr std::string_view kLock = ".lock";

void RemoveQuietly(FileSystem& fs, const std::string& path) {
  try {
    RemoveTree(fs, path);
  } catch (const Error&) {
    // It is in nobody's way.
  }
}

// Removes directories whose owners are gone: their locks are free.
void RemoveAbandoned(FileSystem& fs, const std::string& parent) {
  for (const std::string& name : fs.List(parent)) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kLock)) continue;
    const std::string lock_path = JoinPath(parent, name);
    std::unique_ptr<FileLock> lock;
    try {
      lock = fs.Lock(lock_path);
    } catch (const Error&) {
      continue;  // its owner lives
    }
    RemoveQuietly(fs, lock_path.substr(0, lock_path.size() - kLock.size()));
    RemoveQuietly(fs, lock_path);
  }
}

}  // namespace

ScratchDirectory::ScratchDirectory(FileSystem& fs, const std::string& parent) : fs_(fs) {
  fs_.MakeDirectories(parent);
  RemoveAbandoned(fs_, parent);
  for (int number = 0;; ++number) {
    path_ = JoinPath(parent, fmt::format("{}{}-{}", kPrefix, getpid(), number));
    if (fs_.Exists(path_)) continue;
    try {
      lock_ = fs_.Lock(path_ + std::string(kLock));
    } catch (const Error&) {
      if (number < 1000) continue;  // another of this process, or of one in another container
      throw;
    }
    if (fs_.Exists(path_)) continue;
    fs_.MakeDirectory(path_);
    return;
  }
}

ScratchDirectory::~ScratchDirectory() {
  RemoveQuietly(fs_, path_);
  RemoveQuietly(fs_, path_ + std::string(kLock));
}

std::string SystemScratch() {
  const char* given = std::getenv("TMPDIR");
  return JoinPath(given != nullptr && *given != '\0' ? given : "/tmp", "catamaran");
}

}  // namespace catamaran

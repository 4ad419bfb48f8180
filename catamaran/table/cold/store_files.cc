#include "catamaran/table/cold/store_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

namespace fs = std::filesystem;

void Check(const std::error_code& error, const char* doing, const fs::path& path) {
  if (error)
    Fail(ErrorCode::kStorage, "rows on disk: {} {}: {}", doing, path.string(), error.message());
}

void SyncPath(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (!synced)
    Fail(ErrorCode::kStorage, "rows on disk: syncing {}: {}", path.string(), std::strerror(error));
}

}  // namespace

void MakeEmptyDirectory(const std::string& directory) {
  std::error_code error;
  fs::remove_all(directory, error);
  Check(error, "emptying", directory);
  fs::create_directories(directory, error);
  Check(error, "making", directory);
}

void CloneStoreFiles(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::directory_iterator entries(from, error);
  Check(error, "reading", from);
  bool has_current = false;
  for (const fs::directory_entry& entry : entries) {
    const fs::path name = entry.path().filename();
    const fs::path target = fs::path(to) / name;
    has_current |= name == "CURRENT";
    if (name.extension() == ".sst") {
      fs::create_hard_link(entry.path(), target, error);
      if (!error) continue;  // else: another file system, or one without links
    }
    fs::copy_file(entry.path(), target, error);
    Check(error, "copying", entry.path());
  }
  if (!has_current)
    Fail(ErrorCode::kStorage, "rows on disk: {} holds none: it has no file CURRENT", from);
}

void SyncStoreFiles(const std::string& directory) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    SyncPath(entry.path());
  }
  SyncPath(directory);
}

void RemoveDirectoryQuietly(const std::string& directory) {
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

}  // namespace catamaran

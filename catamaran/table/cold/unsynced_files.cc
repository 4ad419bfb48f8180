#include "catamaran/table/cold/unsynced_files.h"

#include <rocksdb/file_system.h>

#include <string>
#include <utility>

namespace catamaran {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class UnsyncedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
};

class UnsyncedDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  using FSDirectoryWrapper::FSDirectoryWrapper;
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*,
                               const rocksdb::DirFsyncOptions&) override {
    return IOStatus::OK();
  }
};

class UnsyncedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "CatamaranUnsynced"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    return Unsynced(FileSystemWrapper::NewWritableFile(path, options, file, debug), file);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* debug) override {
    return Unsynced(FileSystemWrapper::ReopenWritableFile(path, options, file, debug), file);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                             const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                             IODebugContext* debug) override {
    return Unsynced(FileSystemWrapper::ReuseWritableFile(path, old_path, options, file, debug),
                    file);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* debug) override {
    IOStatus status = FileSystemWrapper::NewDirectory(path, options, directory, debug);
    if (status.ok()) *directory = std::make_unique<UnsyncedDirectory>(std::move(*directory));
    return status;
  }

 private:
  static IOStatus Unsynced(IOStatus status, std::unique_ptr<rocksdb::FSWritableFile>* file) {
    if (status.ok()) *file = std::make_unique<UnsyncedFile>(std::move(*file));
    return status;
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> MakeUnsyncedEnv() {
  return rocksdb::NewCompositeEnv(
      std::make_shared<UnsyncedFileSystem>(rocksdb::FileSystem::Default()));
}

}  // namespace catamaran

// base/forwarded_files.h
//
// A FileSystem that passes everything on to another one: derive from it to change a few operations
// and leave the others as they are.
//
// Thread safety: as the other one's.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"

namespace catamaran {

class ForwardedFiles : public FileSystem {
 public:
  // REQUIRES: `fs` outlives this.
  explicit ForwardedFiles(FileSystem& fs) : fs_(fs) {}

  std::unique_ptr<WritableFile> OpenWrite(const std::string& path) override {
    return fs_.OpenWrite(path);
  }
  std::unique_ptr<WritableFile> OpenAppend(const std::string& path) override {
    return fs_.OpenAppend(path);
  }
  std::unique_ptr<RandomReadFile> OpenRead(const std::string& path) const override {
    return fs_.OpenRead(path);
  }
  std::unique_ptr<MappedFile> Map(const std::string& path) const override { return fs_.Map(path); }
  void Truncate(const std::string& path, uint64_t size) override { fs_.Truncate(path, size); }
  void Rename(const std::string& from, const std::string& to) override { fs_.Rename(from, to); }
  void Remove(const std::string& path) override { fs_.Remove(path); }
  bool Exists(const std::string& path) const override { return fs_.Exists(path); }
  bool IsDirectory(const std::string& path) const override { return fs_.IsDirectory(path); }
  void MakeDirectory(const std::string& path) override { fs_.MakeDirectory(path); }
  std::vector<std::string> List(const std::string& directory) const override {
    return fs_.List(directory);
  }
  void SyncDirectory(const std::string& directory) override { fs_.SyncDirectory(directory); }
  std::unique_ptr<FileLock> Lock(const std::string& path) override { return fs_.Lock(path); }

 private:
  FileSystem& fs_;
};

}  // namespace catamaran

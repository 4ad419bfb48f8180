// commit/stoppable_files.h
//
// A FileSystem that passes everything on to another one, a piece at a time, until it is told to
// stop: then writing fails. It makes long work on files bearable from outside, without that work
// knowing of it: background work breathes between the pieces, and can be ended.

#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/base/file.h"

namespace catamaran {

class StoppableFiles final : public FileSystem {
 public:
  // REQUIRES: both outlive this and its files.
  StoppableFiles(FileSystem& fs, const std::atomic<bool>& stop) : fs_(fs), stop_(stop) {}

  std::unique_ptr<WritableFile> OpenWrite(const std::string& path) override {
    return std::make_unique<File>(fs_.OpenWrite(path), path, stop_);
  }
  std::unique_ptr<WritableFile> OpenAppend(const std::string& path) override {
    return std::make_unique<File>(fs_.OpenAppend(path), path, stop_);
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
  class File final : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> file, std::string path, const std::atomic<bool>& stop)
        : file_(std::move(file)), path_(std::move(path)), stop_(stop) {}
    void Append(std::span<const std::byte> bytes) override {
      constexpr size_t kPiece = size_t{64} << 10;
      do {
        Breathe();
        if (stop_.load(std::memory_order_relaxed)) Fail("writing {} was stopped", path_);
        const size_t count = std::min(bytes.size(), kPiece);
        file_->Append(bytes.first(count));
        bytes = bytes.subspan(count);
      } while (!bytes.empty());
    }
    void Sync() override { file_->Sync(); }
    void Close() override { file_->Close(); }

   private:
    const std::unique_ptr<WritableFile> file_;
    const std::string path_;
    const std::atomic<bool>& stop_;
  };

  FileSystem& fs_;
  const std::atomic<bool>& stop_;
};

}  // namespace catamaran

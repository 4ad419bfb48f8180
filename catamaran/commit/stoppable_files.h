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

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/base/forwarded_files.h"

namespace catamaran {

class StoppableFiles final : public ForwardedFiles {
 public:
  // REQUIRES: both outlive this and its files.
  StoppableFiles(FileSystem& fs, const std::atomic<bool>& stop) : ForwardedFiles(fs), stop_(stop) {}

  std::unique_ptr<WritableFile> OpenWrite(const std::string& path) override {
    return std::make_unique<File>(ForwardedFiles::OpenWrite(path), path, stop_);
  }
  std::unique_ptr<WritableFile> OpenAppend(const std::string& path) override {
    return std::make_unique<File>(ForwardedFiles::OpenAppend(path), path, stop_);
  }

 private:
  class File final : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> file, std::string path, const std::atomic<bool>& stop)
        : file_(std::move(file)), path_(std::move(path)), stop_(stop) {}
    void Append(std::span<const std::byte> bytes) override {
      constexpr size_t kPiece = size_t{64} << 10;
      do {
        Breathe();
        if (stop_.load(std::memory_order_relaxed))
          Fail(ErrorCode::kCancelled, "writing {} was stopped", path_);
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

  const std::atomic<bool>& stop_;
};

}  // namespace catamaran

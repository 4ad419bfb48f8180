// cli/output_file.cc

#include "cli/output_file.h"

#include <utility>

#include "cli/session.h"

namespace catamaran::cli {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

OutputFile::OutputFile(FileSystem& fs, std::string path, WrittenByOthers)
    : fs_(fs), path_(std::move(path)), temporary_(path_ + ".tmp") {}

OutputFile::OutputFile(FileSystem& fs, std::string path)
    : OutputFile(fs, std::move(path), WrittenByOthers{}) {
  file_ = Outside([&] { return fs_.OpenWrite(temporary_); });
}

OutputFile::~OutputFile() {
  if (kept_) return;
  file_.reset();
  try {
    if (fs_.Exists(temporary_)) fs_.Remove(temporary_);
  } catch (const Error&) {
    // The first error is the one to tell.
  }
}

void OutputFile::Flush() {
  Outside([&] { file_->Append(std::string_view(buffer_)); });
  buffer_.clear();
}

void OutputFile::Append(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) Flush();
}

void OutputFile::Keep() {
  Outside([&] {
    if (file_) {
      Flush();
      file_->Sync();
      file_->Close();
    }
    fs_.Rename(temporary_, path_);
    fs_.SyncDirectory(ParentDirectory(path_));
  });
  kept_ = true;
}

}  // namespace catamaran::cli

// table/files/block_writer.h
//
// Bytes on their way into a row file: gathers them, computes the checksum of every block, and
// appends them in large pieces.
//
// Thread safety: one thread at a time.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/file.h"
#include "catamaran/base/memory.h"
#include "catamaran/table/files/row_file_format.h"

namespace catamaran {

class BlockWriter {
 public:
  BlockWriter(FileSystem& fs, const std::string& path)
      : buffer_(BufferRef::Allocate(kBufferBytes)), file_(fs.OpenWrite(path)) {}

  // Bytes so far.
  uint64_t size() const { return flushed_ + filled_; }

  void Append(const void* bytes, size_t size) {
    const auto* from = static_cast<const std::byte*>(bytes);
    while (size > 0) {
      const size_t count = std::min(size, kBufferBytes - filled_);
      std::memcpy(buffer_.data() + filled_, from, count);
      filled_ += count;
      from += count;
      size -= count;
      if (filled_ == kBufferBytes) Flush();
    }
  }

  // Room for `size` bytes to be filled in by the caller, or null where they would not lie in one
  // piece; then Append them.
  std::byte* Reserve(size_t size) {
    if (kBufferBytes - filled_ <= size) return nullptr;
    std::byte* room = buffer_.data() + filled_;
    filled_ += size;
    return room;
  }

  void Align() {
    static constexpr std::byte kZeros[row_format::kAlignment] = {};
    Append(kZeros, row_format::AlignUp(size()) - size());
  }

  // Ends the last block. Of what is appended from now on no checksums are kept.
  const std::vector<uint32_t>& FinishBlocks() {
    Flush();
    checking_ = false;
    return checksums_;
  }

  void Finish() {
    Flush();
    file_->Sync();
    file_->Close();
  }

 private:
  static constexpr size_t kBufferBytes = 8 * row_format::kBlockBytes;

  // The disk is given work this often, so that it writes while rows are gathered.
  static constexpr uint64_t kSyncBytes = uint64_t{16} << 20;

  void Flush() {
    const std::span<const std::byte> bytes(buffer_.data(), filled_);
    for (size_t at = 0; checking_ && at < filled_; at += row_format::kBlockBytes) {
      checksums_.push_back(
          Crc32c(bytes.subspan(at, std::min(row_format::kBlockBytes, filled_ - at))));
    }
    if (filled_ > 0) file_->Append(bytes);
    flushed_ += filled_;
    if (flushed_ >= begun_ + kSyncBytes) {
      file_->BeginSync();
      begun_ = flushed_;
    }
    filled_ = 0;
  }

  BufferRef buffer_;
  std::unique_ptr<WritableFile> file_;
  size_t filled_ = 0;
  uint64_t flushed_ = 0;
  uint64_t begun_ = 0;  // bytes that the disk has been asked to write
  bool checking_ = true;
  std::vector<uint32_t> checksums_;
};

}  // namespace catamaran

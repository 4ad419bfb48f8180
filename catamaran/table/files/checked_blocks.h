// table/files/checked_blocks.h
//
// The mapped bytes of a row file whose blocks are compared with their checksums when they are
// first asked for.
//
// Thread safety: all methods may be called concurrently; two threads may check one block both.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "catamaran/base/file.h"
#include "catamaran/table/files/row_file_format.h"

namespace catamaran {

class CheckedBlocks {
 public:
  // `body` is under `checksums`, one for each block of kBlockBytes; the last may be shorter.
  CheckedBlocks(const MappedFile& file, std::span<const std::byte> body,
                const std::byte* checksums);

  // Returns when the bytes [begin, end) of the body have been checked; an Error if one of their
  // blocks is not what was written. REQUIRES: begin <= end <= body.size().
  void Check(uint64_t begin, uint64_t end) const {
    if (begin == end) return;
    const uint64_t last = (end - 1) / row_format::kBlockBytes;
    for (uint64_t b = begin / row_format::kBlockBytes; b <= last; ++b) {
      if (good_[b].load(std::memory_order_relaxed) == 0) [[unlikely]] {
        CheckBlock(b);
      }
    }
  }

 private:
  void CheckBlock(uint64_t block) const;

  const MappedFile& file_;
  const std::span<const std::byte> body_;
  const std::byte* const checksums_;
  // 1 for blocks that have been compared. Relaxed: the bytes of the file do not change.
  const std::unique_ptr<std::atomic<uint8_t>[]> good_;
};

}  // namespace catamaran

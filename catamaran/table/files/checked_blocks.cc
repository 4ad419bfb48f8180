#include "catamaran/table/files/checked_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"

namespace catamaran {

using row_format::kBlockBytes;

CheckedBlocks::CheckedBlocks(const MappedFile& file, std::span<const std::byte> body,
                             const std::byte* checksums)
    : file_(file),
      body_(body),
      checksums_(checksums),
      good_(
          std::make_unique<std::atomic<uint8_t>[]>((body.size() + kBlockBytes - 1) / kBlockBytes)) {
}

void CheckedBlocks::CheckBlock(uint64_t block) const {
  const uint64_t begin = block * kBlockBytes;
  const uint64_t size = std::min<uint64_t>(kBlockBytes, body_.size() - begin);
  const uint32_t wanted = row_format::Load<uint32_t>(checksums_ + block * 4);
  const uint32_t found = Crc32c(body_.subspan(begin, size));
  if (found != wanted) {
    Fail(ErrorCode::kStorage, "{} is damaged: bytes {} to {} have the checksum {:08x}, not {:08x}",
         file_.path(), begin, begin + size - 1, found, wanted);
  }
  good_[block].store(1, std::memory_order_relaxed);
}

}  // namespace catamaran

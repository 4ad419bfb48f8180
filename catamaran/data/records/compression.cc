#include "catamaran/data/records/compression.h"

#include "catamaran/base/error.h"

#if CATAMARAN_WITH_ZSTD
#include <zstd.h>
#endif

namespace catamaran {

#if CATAMARAN_WITH_ZSTD

namespace {
constexpr int kLevel = 3;  // higher ones take longer to write and no less to read
}

// Made when first used: most columns are never compressed.
struct ZstdCodec::Contexts {
  ~Contexts() {
    ZSTD_freeCCtx(compress);
    ZSTD_freeDCtx(decompress);
  }
  ZSTD_CCtx* compress = nullptr;
  ZSTD_DCtx* decompress = nullptr;
};

bool ZstdCodec::Available() { return true; }

void ZstdCodec::Compress(std::span<const std::byte> bytes, std::string& out) {
  if (contexts_->compress == nullptr) contexts_->compress = ZSTD_createCCtx();
  out.resize(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compressCCtx(contexts_->compress, out.data(), out.size(), bytes.data(),
                                        bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) Fail(ErrorCode::kStorage, "zstd: {}", ZSTD_getErrorName(size));
  out.resize(size);
}

void ZstdCodec::Decompress(std::span<const std::byte> bytes, size_t size, Buffer<std::byte>& out) {
  if (contexts_->decompress == nullptr) contexts_->decompress = ZSTD_createDCtx();
  out.resize(size);
  const size_t found =
      ZSTD_decompressDCtx(contexts_->decompress, out.data(), size, bytes.data(), bytes.size());
  if (ZSTD_isError(found) != 0) Fail(ErrorCode::kStorage, "zstd: {}", ZSTD_getErrorName(found));
  if (found != size) Fail(ErrorCode::kStorage, "zstd gives {} bytes, wanted {}", found, size);
}

#else

struct ZstdCodec::Contexts {};

bool ZstdCodec::Available() { return false; }

void ZstdCodec::Compress(std::span<const std::byte>, std::string& out) { out.clear(); }

void ZstdCodec::Decompress(std::span<const std::byte>, size_t, Buffer<std::byte>&) {
  Fail("it is compressed with zstd, which this build was made without");
}

#endif

ZstdCodec::ZstdCodec() : contexts_(std::make_unique<Contexts>()) {}
ZstdCodec::~ZstdCodec() = default;

}  // namespace catamaran

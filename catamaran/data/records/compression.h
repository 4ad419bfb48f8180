// data/records/compression.h
//
// zstd, where the build has it: the minimal build does not, and then writes nothing compressed and
// says so of what it is to read.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "catamaran/data/buffer.h"

namespace catamaran {

// Thread safety: one thread at a time.
class ZstdCodec {
 public:
  ZstdCodec();
  ~ZstdCodec();

  static bool Available();

  // Makes `out` the compressed bytes; leaves it empty where the build has no zstd.
  void Compress(std::span<const std::byte> bytes, std::string& out);

  // Makes `out` the `size` bytes that were compressed. An Error if they are not.
  void Decompress(std::span<const std::byte> bytes, size_t size, Buffer<std::byte>& out);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace catamaran

// data/files/inflate_stream.h
//
// Compressed parts of files as a ByteStream: gzip'd files, and what zip archives hold. See
// byte_stream.h.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/data/files/byte_stream.h"

namespace catamaran {

enum class Packing {
  kStored,   // not at all
  kDeflate,  // RFC 1951, as in zip archives
  kGzip,     // RFC 1952; several members one after another are one stream
};

// The bytes [begin, begin + size) of a file, decompressed. `name` stands in errors. An Error where
// zlib is needed and the build has none.
// REQUIRES: the file has those bytes.
std::unique_ptr<ByteStream> OpenPart(std::shared_ptr<const RandomReadFile> file, uint64_t begin,
                                     uint64_t size, Packing compression, std::string name);

}  // namespace catamaran

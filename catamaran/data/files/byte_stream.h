// data/files/byte_stream.h
//
// A file's bytes from front to back. A gzip'd file (seen by its first bytes, whatever its name)
// gives its decompressed bytes, of all its members; offsets count those. A file that is damaged or
// cut off is an Error that begins with its name.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "catamaran/base/file.h"

namespace catamaran {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Copies the next bytes to `out` and returns how many; 0 only at the end or for an empty `out`.
  virtual size_t Read(std::span<char> out) = 0;

  // The next Read begins at this byte. An Error if the contents end before it. In a gzip'd file
  // everything up to there is decompressed again, unless it lies ahead.
  virtual void Seek(uint64_t offset) = 0;

  // Where the next Read begins.
  virtual uint64_t offset() const = 0;

  virtual const std::string& path() const = 0;

  // Seek costs next to nothing, wherever it goes, and nothing is missed by not reading to the end.
  virtual bool random_access() const { return false; }
};

// An Error for a gzip'd file in a build without zlib.
std::unique_ptr<ByteStream> OpenByteStream(const FileSystem& fs, const std::string& path);

}  // namespace catamaran

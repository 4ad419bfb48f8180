// data/files/zip.h
//
// Zip archives, stored or deflated, zip64 included. Archives are not trusted: every place and size
// is checked against the file, and what an entry holds against its size and checksum. Errors begin
// with the archive's name. Encrypted archives, those of several volumes and other compressions are
// refused.
//
// Thread safety: different streams of one archive may be used at once; Open may be called by
// several threads.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/data/files/byte_stream.h"
#include "catamaran/data/files/inflate_stream.h"

namespace catamaran {

struct ZipEntry {
  std::string name;
  Packing compression = Packing::kStored;
  uint64_t stored_size = 0;  // in the archive
  uint64_t size = 0;         // decompressed
  uint32_t crc32 = 0;
  uint64_t header_offset = 0;
};

class ZipArchive {
 public:
  ZipArchive(const FileSystem& fs, const std::string& path);

  // As in the archive's directory, folders too (their names end with a slash).
  const std::vector<ZipEntry>& entries() const { return entries_; }

  // What an entry holds. Whoever reads all of it from front to back hears of a wrong size or
  // checksum by an Error.
  std::unique_ptr<ByteStream> Open(const ZipEntry& entry) const;

 private:
  struct Directory {
    uint64_t offset = 0, size = 0, entries = 0;
  };
  Directory FindDirectory() const;
  Directory ReadZip64End(uint64_t end_offset) const;
  void ReadEntries(const Directory& directory);
  std::string Bytes(uint64_t offset, uint64_t size) const;

  const std::string path_;
  const std::shared_ptr<const RandomReadFile> file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace catamaran

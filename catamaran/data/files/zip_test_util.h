// data/files/zip_test_util.h
//
// Makes zip archives, for tests.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/files/reader_test_util.h"

namespace catamaran::testing {

inline constexpr bool kCanDeflate = CATAMARAN_WITH_ZLIB;

struct ZipPart {
  std::string name;
  std::string contents;
  bool deflate = false;
};

inline uint32_t SlowCrc32(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// With `zip64` every size and offset stands in 64 bits, as those of large archives do.
inline std::string MakeZip(const std::vector<ZipPart>& parts, bool zip64 = false) {
  const auto put = [](std::string& out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
  };
  std::string archive, directory;
  for (const ZipPart& part : parts) {
    std::string stored = part.contents;
#if CATAMARAN_WITH_ZLIB
    if (part.deflate) stored = Deflated(part.contents, -15);
#endif
    const uint64_t offset = archive.size();
    const auto fields = [&](std::string& out) {
      put(out, 20, 2);                    // version
      put(out, 0, 2);                     // flags
      put(out, part.deflate ? 8 : 0, 2);  // method
      put(out, 0, 4);                     // time
      put(out, SlowCrc32(part.contents), 4);
      put(out, zip64 ? 0xffffffff : stored.size(), 4);
      put(out, zip64 ? 0xffffffff : part.contents.size(), 4);
      put(out, part.name.size(), 2);
      put(out, zip64 ? 28 : 0, 2);
    };
    const auto extra = [&](std::string& out) {
      if (!zip64) return;
      put(out, 1, 2);
      put(out, 24, 2);
      put(out, part.contents.size(), 8);
      put(out, stored.size(), 8);
      put(out, offset, 8);
    };
    put(archive, 0x04034b50, 4);
    fields(archive);
    archive += part.name;
    extra(archive);
    archive += stored;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    fields(directory);
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 6);  // attributes
    put(directory, zip64 ? 0xffffffff : offset, 4);
    directory += part.name;
    extra(directory);
  }
  const uint64_t at = archive.size();
  archive += directory;
  if (zip64) {
    const uint64_t end = archive.size();
    put(archive, 0x06064b50, 4);
    put(archive, 44, 8);
    put(archive, 45, 2);
    put(archive, 45, 2);
    put(archive, 0, 8);  // disks
    put(archive, parts.size(), 8);
    put(archive, parts.size(), 8);
    put(archive, directory.size(), 8);
    put(archive, at, 8);
    put(archive, 0x07064b50, 4);
    put(archive, 0, 4);
    put(archive, end, 8);
    put(archive, 1, 4);
  }
  put(archive, 0x06054b50, 4);
  put(archive, 0, 4);  // disks
  put(archive, zip64 ? 0xffff : parts.size(), 2);
  put(archive, zip64 ? 0xffff : parts.size(), 2);
  put(archive, zip64 ? 0xffffffff : directory.size(), 4);
  put(archive, zip64 ? 0xffffffff : at, 4);
  put(archive, 0, 2);
  return archive;
}

}  // namespace catamaran::testing

#include "catamaran/data/files/byte_stream.h"

#include <array>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/files/inflate_stream.h"

namespace catamaran {

std::unique_ptr<ByteStream> OpenByteStream(const FileSystem& fs, const std::string& path) {
  if (fs.IsDirectory(path)) Fail("{}: is a folder; wanted a file", path);
  std::shared_ptr<const RandomReadFile> file = fs.OpenRead(path);
  std::array<std::byte, 2> magic{};
  Packing compression = Packing::kStored;
  if (file->size() >= magic.size()) {
    file->ReadExactly(0, magic);
    if (magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b}) {
      compression = Packing::kGzip;
    }
  }
  const uint64_t size = file->size();
  return OpenPart(std::move(file), 0, size, compression, path);
}

}  // namespace catamaran

#include "catamaran/data/files/byte_stream.h"

#include <algorithm>
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

std::string ReadWholeStream(const FileSystem& fs, const std::string& path, size_t max_bytes) {
  const auto stream = OpenByteStream(fs, path);
  std::string contents;
  size_t filled = 0;
  for (;;) {
    // Grows with what was read, so that no size in a file decides what is allocated.
    contents.resize(std::min(std::max<size_t>(size_t{1} << 16, filled * 2), max_bytes + 1));
    const size_t got = stream->Read({contents.data() + filled, contents.size() - filled});
    filled += got;
    if (filled > max_bytes) Fail("{}: has more than {} bytes", path, max_bytes);
    if (got == 0) break;
  }
  contents.resize(filled);
  return contents;
}

}  // namespace catamaran

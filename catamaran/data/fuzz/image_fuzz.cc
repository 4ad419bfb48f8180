// Any bytes as an image: an error, which leaves the buffer as it was, or as many bytes as its size
// says.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/data/files/image.h"

using namespace catamaran;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  for (const int channels : {1, 3}) {
    Buffer<uint8_t> out;
    size_t wanted = 0;
    try {
      const ImageSize own = ReadImageSize(file);
      // Large images cost time and find nothing.
      if (own.height * own.width > 1 << 16) return 0;
      const ImageSize found = DecodeImage(file, channels, nullptr, out);
      wanted = static_cast<size_t>(found.height * found.width * found.channels);
    } catch (const Error&) {
    }
    if (out.size() != wanted) {
      std::fprintf(stderr, "%zu bytes, wanted %zu\n", out.size(), wanted);
      std::abort();
    }
  }
  return 0;
}

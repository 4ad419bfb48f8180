// data/files/image.h
//
// PNG and JPEG images as bytes: rows from the top, pixels from the left, 1 (grey) or 3 (red, green,
// blue) channels of 8 bits. Palettes and other depths are converted; transparency is left out.
// Images are not trusted: what is damaged, cut off or larger than kMaxImagePixels is an Error, and
// so is a format that the build has no library for. Errors do not name the file: the caller knows
// it.
//
// Thread safety: functions of their arguments.

#pragma once

#include <cstdint>
#include <string_view>

#include "catamaran/data/buffer.h"

namespace catamaran {

inline constexpr int64_t kMaxImagePixels = int64_t{1} << 26;

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;  // 1 or 3

  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// What the file says, with the channels that it has itself: 1 or 3.
ImageSize ReadImageSize(std::string_view file);

// Appends the image's bytes to `out`, with `channels` 1 or 3, whatever it has itself, and returns
// its size. If `wanted` is given, an image of another height or width is an Error before anything
// is decoded. After an Error `out` is as it was.
ImageSize DecodeImage(std::string_view file, int channels, const ImageSize* wanted,
                      Buffer<uint8_t>& out);

}  // namespace catamaran

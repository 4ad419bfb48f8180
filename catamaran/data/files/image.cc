#include "catamaran/data/files/image.h"

#include "catamaran/base/error.h"
#include "catamaran/data/files/image_codecs.h"

namespace catamaran {

namespace {

using image_internal::Destination;

void Decode(std::string_view file, int channels, Destination destination) {
  if (file.starts_with("\x89PNG\r\n\x1a\n")) {
    image_internal::DecodePng(file, channels, destination);
  } else if (file.starts_with("\xff\xd8\xff")) {
    image_internal::DecodeJpeg(file, channels, destination);
  } else {
    Fail(ErrorCode::kBadData, "is neither a PNG nor a JPEG image: it begins with other bytes");
  }
}

void CheckSize(const ImageSize& size) {
  if (size.height <= 0 || size.width <= 0 || size.height > kMaxImagePixels / size.width) {
    Fail(ErrorCode::kBadData, "is an image of {} x {} pixels; the most are {}", size.height,
         size.width, kMaxImagePixels);
  }
}

}  // namespace

ImageSize ReadImageSize(std::string_view file) {
  ImageSize found;
  const auto look = [&](const ImageSize& size) -> uint8_t* {
    found = size;
    return nullptr;
  };
  Decode(file, 0, look);
  CheckSize(found);
  return found;
}

ImageSize DecodeImage(std::string_view file, int channels, const ImageSize* wanted,
                      Buffer<uint8_t>& out) {
  CATAMARAN_CHECK(channels == 1 || channels == 3);
  const size_t before = out.size();
  ImageSize found;
  const auto place = [&](const ImageSize& size) -> uint8_t* {
    CheckSize(size);
    if (wanted != nullptr && (size.height != wanted->height || size.width != wanted->width)) {
      Fail(ErrorCode::kBadData, "is an image of {} x {} pixels; the others have {} x {}",
           size.height, size.width, wanted->height, wanted->width);
    }
    found = size;
    return out.Extend(static_cast<size_t>(size.height * size.width * size.channels));
  };
  try {
    Decode(file, channels, place);
  } catch (...) {
    out.resize(before);
    throw;
  }
  return found;
}

}  // namespace catamaran

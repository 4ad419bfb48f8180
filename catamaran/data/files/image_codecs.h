// data/files/image_codecs.h
//
// The two image libraries behind image.h. Both report errors by jumping back, so that each call
// sits in a frame of its own, without anything to destroy.

#pragma once

#include <cstdint>
#include <string_view>

#include "catamaran/base/function_ref.h"
#include "catamaran/data/files/image.h"

namespace catamaran::image_internal {

// Given the image's size with the channels asked for (0: its own), returns where its bytes go, or
// nullptr if nothing is to be decoded. May throw.
using Destination = FunctionRef<uint8_t*(const ImageSize&)>;

// Each an Error if the file is damaged, or the build has not the library.
void DecodePng(std::string_view file, int channels, Destination destination);
void DecodeJpeg(std::string_view file, int channels, Destination destination);

}  // namespace catamaran::image_internal

#include "catamaran/base/error.h"
#include "catamaran/data/files/image_codecs.h"

#if CATAMARAN_WITH_JPEG
#include <cstdio>
// libjpeg's header relies on what stands before it.
#include <jpeglib.h>

#include <csetjmp>
#include <limits>
#endif

namespace catamaran::image_internal {

#if CATAMARAN_WITH_JPEG

namespace {

struct ErrorHandler {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is one to this
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void OnError(j_common_ptr common) {
  auto* handler = reinterpret_cast<ErrorHandler*>(common->err);
  common->err->format_message(common, handler->message);
  std::longjmp(handler->jump, 1);
}

// Libjpeg makes up what is missing or wrong and warns; we would rather not learn from that. Of the
// warnings one is harmless: bytes between two parts of the file.
void OnMessage(j_common_ptr common, int level) {
  constexpr std::string_view kExtraneous = "Corrupt JPEG data: %u extraneous bytes";
  if (level >= 0) return;
  const jpeg_error_mgr& err = *common->err;
  const char* text = err.msg_code > 0 && err.msg_code <= err.last_jpeg_message
                         ? err.jpeg_message_table[err.msg_code]
                         : "";
  if (!std::string_view(text).starts_with(kExtraneous)) OnError(common);
}

struct Decoder {
  jpeg_decompress_struct jpeg{};
  ErrorHandler handler{};
  bool made = false;

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  ~Decoder() {
    if (made) jpeg_destroy_decompress(&jpeg);
  }
};

// Each of these two returns false after an error: nothing in their frames needs destruction.
bool ReadHeader(Decoder& decoder, std::string_view file) {
  decoder.jpeg.err = jpeg_std_error(&decoder.handler.base);
  decoder.handler.base.error_exit = OnError;
  decoder.handler.base.emit_message = OnMessage;
  if (setjmp(decoder.handler.jump) != 0) return false;
  jpeg_create_decompress(&decoder.jpeg);
  decoder.made = true;
  jpeg_mem_src(&decoder.jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder.jpeg, TRUE);
  return true;
}

bool ReadRows(Decoder& decoder, int channels, uint8_t* out) {
  if (setjmp(decoder.handler.jump) != 0) return false;
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  const size_t row_bytes = size_t{jpeg.output_width} * static_cast<size_t>(channels);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = out + row_bytes * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

}  // namespace

void DecodeJpeg(std::string_view file, int channels, Destination destination) {
  Decoder decoder;
  const auto damaged = [&] {
    Fail(ErrorCode::kBadData, "is a damaged JPEG image: {}", decoder.handler.message);
  };
  if (!ReadHeader(decoder, file)) damaged();
  const jpeg_decompress_struct& jpeg = decoder.jpeg;
  if (jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK) {
    Fail(ErrorCode::kBadData, "is a JPEG image for print (CMYK); convert it to RGB");
  }
  const int own = jpeg.num_components == 1 ? 1 : 3;
  const ImageSize size{.height = jpeg.image_height,
                       .width = jpeg.image_width,
                       .channels = channels == 0 ? own : channels};
  uint8_t* const out = destination(size);
  if (out == nullptr) return;
  if (!ReadRows(decoder, size.channels, out)) damaged();
}

#else

void DecodeJpeg(std::string_view, int, Destination) {
  Fail("is a JPEG image, and this build has no libjpeg");
}

#endif

}  // namespace catamaran::image_internal

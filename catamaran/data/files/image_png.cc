#include "catamaran/base/error.h"
#include "catamaran/data/files/image_codecs.h"

#if CATAMARAN_WITH_PNG
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>
#endif

namespace catamaran::image_internal {

#if CATAMARAN_WITH_PNG

namespace {

// What libpng's callbacks see.
struct Source {
  std::string_view rest;
  char message[128] = {};
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof(source->message) - 1);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep out, size_t size) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (size > source->rest.size()) png_error(png, "it is cut off");
  std::memcpy(out, source->rest.data(), size);
  source->rest.remove_prefix(size);
}

struct Handles {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Handles() { png_destroy_read_struct(&png, &info, nullptr); }
};

// Each of these three returns false after an error: nothing in their frames needs destruction.
bool ReadInfo(const Handles& handles) {
  if (setjmp(png_jmpbuf(handles.png)) != 0) return false;
  png_read_info(handles.png, handles.info);
  return true;
}

bool SetFormat(const Handles& handles, int channels) {
  if (setjmp(png_jmpbuf(handles.png)) != 0) return false;
  png_structp png = handles.png;
  const int color = png_get_color_type(png, handles.info);
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  if (channels == 3) png_set_gray_to_rgb(png);
  if (channels == 1 && (color & PNG_COLOR_MASK_COLOR) != 0) png_set_rgb_to_gray(png, 1, -1, -1);
  png_set_interlace_handling(png);
  png_read_update_info(png, handles.info);
  return true;
}

bool ReadRows(const Handles& handles, png_bytepp rows) {
  if (setjmp(png_jmpbuf(handles.png)) != 0) return false;
  png_read_image(handles.png, rows);
  png_read_end(handles.png, nullptr);
  return true;
}

}  // namespace

void DecodePng(std::string_view file, int channels, Destination destination) {
  Source source{.rest = file};
  Handles handles;
  handles.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, OnError, OnWarning);
  if (handles.png != nullptr) handles.info = png_create_info_struct(handles.png);
  if (handles.info == nullptr) Fail(ErrorCode::kResourceExhausted, "libpng has no memory");
  png_set_read_fn(handles.png, &source, OnRead);
  // A colour profile or a text must not take memory on the file's word.
  png_set_user_limits(handles.png, 1u << 20, 1u << 20);
  png_set_chunk_malloc_max(handles.png, 8u << 20);
  const auto damaged = [&] {
    Fail(ErrorCode::kBadData, "is a damaged PNG image: {}", source.message);
  };

  if (!ReadInfo(handles)) damaged();
  const bool color = (png_get_color_type(handles.png, handles.info) & PNG_COLOR_MASK_COLOR) != 0;
  const int own = color ? 3 : 1;
  ImageSize size{.height = png_get_image_height(handles.png, handles.info),
                 .width = png_get_image_width(handles.png, handles.info),
                 .channels = channels == 0 ? own : channels};
  uint8_t* const out = destination(size);
  if (out == nullptr) return;
  if (!SetFormat(handles, size.channels)) damaged();
  const size_t row_bytes = static_cast<size_t>(size.width) * static_cast<size_t>(size.channels);
  CATAMARAN_CHECK(png_get_rowbytes(handles.png, handles.info) == row_bytes);
  std::vector<png_bytep> rows(static_cast<size_t>(size.height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = out + y * row_bytes;
  if (!ReadRows(handles, rows.data())) damaged();
}

#else

void DecodePng(std::string_view, int, Destination) {
  Fail("is a PNG image, and this build has no libpng");
}

#endif

}  // namespace catamaran::image_internal

#include "catamaran/data/files/image_folder_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/image.h"
#include "catamaran/data/files/reader_test_util.h"

#if CATAMARAN_WITH_PNG && CATAMARAN_WITH_JPEG
#include <png.h>

#include <cstdio>
// libjpeg's header relies on what stands before it.
#include <jpeglib.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::MessageOf;
using testing::ReadRest;

using Bytes = std::vector<uint8_t>;

std::string Png(int width, int height, uint32_t format, const Bytes& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  std::string file(100'000, '\0');
  png_alloc_size_t size = file.size();
  EXPECT_NE(png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr), 0);
  file.resize(size);
  return file;
}

std::string Jpeg(int width, int height, int channels, const Bytes& pixels) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) {
    auto* row = const_cast<JSAMPROW>(pixels.data() + y * static_cast<size_t>(width * channels));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string file(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&jpeg);
  std::free(buffer);
  return file;
}

Bytes Decoded(const std::string& file, int channels) {
  Buffer<uint8_t> out;
  DecodeImage(file, channels, nullptr, out);
  return {out.begin(), out.end()};
}

const Bytes kColors = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30};  // 2 x 2

TEST(Image, PngsComeBackBitForBit) {
  const std::string file = Png(2, 2, PNG_FORMAT_RGB, kColors);
  EXPECT_EQ(ReadImageSize(file), (ImageSize{.height = 2, .width = 2, .channels = 3}));
  EXPECT_EQ(Decoded(file, 3), kColors);
  const std::string grey = Png(3, 1, PNG_FORMAT_GRAY, {0, 128, 255});
  EXPECT_EQ(ReadImageSize(grey), (ImageSize{.height = 1, .width = 3, .channels = 1}));
  EXPECT_EQ(Decoded(grey, 1), (Bytes{0, 128, 255}));
  EXPECT_EQ(Decoded(grey, 3), (Bytes{0, 0, 0, 128, 128, 128, 255, 255, 255}));
  // Transparency is left out, not mixed in.
  EXPECT_EQ(Decoded(Png(1, 1, PNG_FORMAT_RGBA, {9, 8, 7, 0}), 3), (Bytes{9, 8, 7}));
  const Bytes grey_of_colors = Decoded(file, 1);
  ASSERT_EQ(grey_of_colors.size(), 4u);
  EXPECT_GT(grey_of_colors[1], grey_of_colors[0]);
  EXPECT_GT(grey_of_colors[0], grey_of_colors[2]);
}

TEST(Image, JpegsComeBackNearlyAsTheyWere) {
  Bytes pixels;
  for (int i = 0; i < 64; ++i) pixels.insert(pixels.end(), {200, static_cast<uint8_t>(i), 50});
  const std::string file = Jpeg(8, 8, 3, pixels);
  const Bytes back = Decoded(file, 3);
  ASSERT_EQ(back.size(), pixels.size());
  for (size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], pixels[i], 8) << i;
  EXPECT_EQ(Decoded(file, 1).size(), 64u);
  const std::string grey = Jpeg(2, 1, 1, {100, 100});
  EXPECT_EQ(ReadImageSize(grey).channels, 1);
  EXPECT_EQ(Decoded(grey, 3), (Bytes{100, 100, 100, 100, 100, 100}));
}

TEST(Image, WhatIsDamagedIsAnErrorAndLeavesTheBufferAsItWas) {
  Buffer<uint8_t> out;
  out.push_back(7);
  Bytes noise;
  for (int i = 0; i < 32 * 32; ++i) noise.push_back(static_cast<uint8_t>(i * 37 % 251));
  for (const std::string& file : {Png(32, 32, PNG_FORMAT_GRAY, noise), Jpeg(32, 32, 1, noise)}) {
    for (size_t size = 0; size + 12 < file.size(); size += 9) {
      EXPECT_NE(MessageOf([&] { DecodeImage(file.substr(0, size), 1, nullptr, out); }), "no error")
          << size;
      ASSERT_EQ(out.size(), 1u);
    }
  }
  EXPECT_EQ(MessageOf([&] { DecodeImage("GIF89a", 3, nullptr, out); }),
            "is neither a PNG nor a JPEG image: it begins with other bytes");
  // A header that promises 2^20 x 2^20 pixels.
  std::string huge = Png(1, 1, PNG_FORMAT_GRAY, {1});
  EXPECT_NE(MessageOf([&] {
              std::string file = huge;
              file[17] = 0x10;
              file[21] = 0x10;
              DecodeImage(file, 1, nullptr, out);
            }),
            "no error");
  EXPECT_THAT(out.span(), ElementsAre(7));
}

class ImageFolder : public ::testing::Test {
 protected:
  ImageFolder() {
    for (const std::string folder : {"root", "root/cat", "root/dog", "root/.cache"}) {
      fs_.MakeDirectory(folder);
    }
    Put("cat/b.JPG", Jpeg(2, 1, 1, {100, 100}));
    Put("cat/a.png", Png(2, 1, PNG_FORMAT_RGB, {1, 2, 3, 4, 5, 6}));
    Put("cat/notes.txt", "hello");
    Put("dog/x.png", Png(2, 1, PNG_FORMAT_GRAY, {8, 9}));
    Put("stray.png", "?");
    Put(".cache/x.png", "?");
  }
  void Put(const std::string& name, const std::string& contents) {
    WriteFileAtomically(fs_, "root/" + name, contents);
  }
  std::unique_ptr<RowReader> Open() { return OpenReader(fs_, "root", options_); }

  FaultyFileSystem fs_;
  ReaderOptions options_;
};

TEST_F(ImageFolder, AFolderIsAClass) {
  const RowBlock rows = ReadRest(*Open());
  EXPECT_EQ(rows.schema().ToString(), "image: u8[1, 2, 3]\nlabel: i64\nfile: string\n");
  EXPECT_THAT(rows[0].bytes.span(),
              ElementsAre(1, 2, 3, 4, 5, 6, 100, 100, 100, 100, 100, 100, 8, 8, 8, 9, 9, 9));
  EXPECT_THAT(rows[1].ints.span(), ElementsAre(0, 0, 1));
  EXPECT_EQ(rows[2].text(0), "cat/a.png");
  EXPECT_EQ(rows[2].text(2), "dog/x.png");
  testing::CheckPositions([&] { return Open(); }, 1);
  const auto reader = Open();
  EXPECT_EQ(reader->num_rows(), 3);
  reader->SeekRow(2);
  EXPECT_THAT(ReadRest(*reader)[1].ints.span(), ElementsAre(1));
  options_.files.image_channels = 1;
  EXPECT_EQ(Open()->schema()[0].KindText(), "u8[1, 2, 1]");
}

TEST_F(ImageFolder, AnImageOfAnotherSizeOrADamagedOneIsABadRow) {
  Put("cat/c.png", Png(1, 1, PNG_FORMAT_GRAY, {1}));
  Put("dog/a.png", "nothing");
  EXPECT_EQ(MessageOf([&] { ReadRest(*Open()); }),
            "root/cat/c.png: is an image of 1 x 1 pixels; the others have 1 x 2");
  options_.bad_rows.limit = 2;
  EXPECT_EQ(ReadRest(*Open()).rows(), 3);
  testing::CheckPositions([&] { return Open(); }, 1);
  EXPECT_EQ(Open()->num_rows(), std::nullopt);
}

TEST_F(ImageFolder, APositionOfAFolderThatHasChangedIsRefused) {
  const auto reader = Open();
  RowBlock block;
  reader->Read(1, block);
  Put("cat/aa.png", Png(2, 1, PNG_FORMAT_GRAY, {1, 2}));
  EXPECT_EQ(MessageOf([&] { Open()->Seek(reader->position()); }),
            "root: the position is before 'cat/b.JPG', image 2 of 3; the folder holds other images "
            "now");
}

TEST_F(ImageFolder, AFolderWithoutImagesIsRefused) {
  fs_.MakeDirectory("empty");
  EXPECT_EQ(MessageOf([&] { OpenReader(fs_, "empty"); }),
            "empty: holds no images: wanted a folder a class, with PNGs or JPEGs");
}

}  // namespace
}  // namespace catamaran

#endif

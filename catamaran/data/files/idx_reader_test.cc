#include "catamaran/data/files/idx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/reader_test_util.h"

namespace catamaran {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using testing::MessageOf;
using testing::ReadRest;

const std::string kImages = "\0\0\x08\x03\0\0\0\x03\0\0\0\x01\0\0\0\x02"s + "abcdef";
const std::string kLabels = "\0\0\x08\x01\0\0\0\x03"s + "\5\0\xff"s;

TEST(Idx, ImagesComeWithTheLabelsBesideThem) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "train-images-idx3-ubyte", kImages);
  const auto open = [&] { return OpenReader(fs, "train-images-idx3-ubyte"); };
  EXPECT_EQ(open()->schema().ToString(), "image: u8[1, 2]\n");
  WriteFileAtomically(fs, "train-labels-idx1-ubyte", kLabels);
  const RowBlock rows = ReadRest(*open());
  EXPECT_EQ(rows.schema().ToString(), "image: u8[1, 2]\nlabel: u8\n");
  EXPECT_THAT(rows[0].bytes.span(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  EXPECT_THAT(rows[1].bytes.span(), ElementsAre(5, 0, 255));
  testing::CheckPositions(open, 1);
  EXPECT_EQ(OpenReader(fs, "train-labels-idx1-ubyte")->schema().ToString(), "label: u8\n");
  WriteFileAtomically(fs, "train-labels-idx1-ubyte", "\0\0\x08\x01\0\0\0\x02"s + "\5\0"s);
  EXPECT_EQ(MessageOf(open), "train-images-idx3-ubyte: 'label' has 2 rows, but 'image' has 3");
}

#if CATAMARAN_WITH_ZLIB
TEST(Idx, FilesMayBeGzipped) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "t-images-idx3-ubyte.gz", testing::Gzipped(kImages));
  WriteFileAtomically(fs, "t-labels-idx1-ubyte.gz", testing::Gzipped(kLabels));
  const auto open = [&] { return OpenReader(fs, "t-images-idx3-ubyte.gz"); };
  EXPECT_EQ(open()->num_rows(), 3);
  testing::CheckPositions(open, 1);
}
#endif

TEST(Idx, NumbersAreBigEndian) {
  FaultyFileSystem fs;
  const auto rows = [&](const std::string& file) {
    WriteFileAtomically(fs, "f", file);
    return ReadRest(*OpenReader(fs, "f"));
  };
  EXPECT_THAT(rows("\0\0\x0b\x01\0\0\0\x02\x01\x02\xff\xfe"s)[0].ints.span(),
              ElementsAre(0x102, -2));
  EXPECT_THAT(rows("\0\0\x0c\x01\0\0\0\x01\x01\x02\x03\x04"s)[0].ints.span(),
              ElementsAre(0x1020304));
  EXPECT_THAT(rows("\0\0\x0d\x01\0\0\0\x01\x3f\xc0\0\0"s)[0].floats.span(), ElementsAre(1.5f));
  EXPECT_THAT(rows("\0\0\x0e\x01\0\0\0\x01\x3f\xf8\0\0\0\0\0\0"s)[0].floats.span(),
              ElementsAre(1.5f));
}

TEST(Idx, FilesThatLieAreRefused) {
  FaultyFileSystem fs;
  const auto problem = [&](const std::string& file) {
    WriteFileAtomically(fs, "f", file);
    return MessageOf([&] { ReadRest(*OpenReader(fs, "f", {.format = "idx"})); });
  };
  EXPECT_EQ(problem(kImages.substr(0, 10)), "f: cut off: it ends within the IDX header");
  EXPECT_EQ(problem(kImages.substr(0, 20)), "f: cut off: it ends within its rows 1 to 3 of 3");
  EXPECT_EQ(problem(kImages + "x"), "f: too long: it goes on after its 3 rows");
  EXPECT_EQ(problem("hello"), "f: not an IDX file: it begins with other bytes");
  EXPECT_TRUE(
      problem("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s).starts_with("f: "));
}

}  // namespace
}  // namespace catamaran

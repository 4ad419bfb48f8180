#include "catamaran/data/text/lines_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/reader_test_util.h"

namespace catamaran {
namespace {

using namespace std::string_literals;

TEST(Lines, EveryLineIsARowAnEmptyOneToo) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "f.txt", "one, \"two\n\n\r\nthr\0ee\r\n\xff last"s);
  const auto open = [&] { return OpenReader(fs, "f.txt"); };
  const RowBlock rows = testing::ReadRest(*open());
  ASSERT_EQ(rows.rows(), 5);
  EXPECT_EQ(rows[0].text(0), "one, \"two");
  EXPECT_EQ(rows[0].text(1), "");
  EXPECT_EQ(rows[0].text(2), "");
  EXPECT_EQ(rows[0].text(3), std::string_view("thr\0ee", 6));
  EXPECT_EQ(rows[0].text(4), "\xff last");
  testing::CheckPositions(open, 1);
  // The newline at the end of the last line begins no other.
  WriteFileAtomically(fs, "f.txt", "a\n\nb\n\n");
  EXPECT_EQ(testing::ReadRest(*open()).rows(), 4);
  testing::CheckPositions(open, 1);
  WriteFileAtomically(fs, "empty.txt", "");
  EXPECT_EQ(testing::ReadRest(*OpenReader(fs, "empty.txt")).rows(), 0);
}

}  // namespace
}  // namespace catamaran

#include "catamaran/data/text/libsvm_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/reader_test_util.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::MessageOf;
using testing::ReadRest;

class Libsvm : public ::testing::Test {
 protected:
  std::unique_ptr<RowReader> Open(const std::string& text, const std::string& path = "f.libsvm") {
    WriteFileAtomically(fs_, path, text);
    return OpenReader(fs_, path, options_);
  }
  std::string Problem(const std::string& text, const std::string& path = "f.libsvm") {
    return MessageOf([&] { ReadRest(*Open(text, path)); });
  }

  FaultyFileSystem fs_;
  ReaderOptions options_;
};

TEST_F(Libsvm, RowsHaveALabelAndFeaturesInAnyOrder) {
  const RowBlock rows =
      ReadRest(*Open("# made by hand\n+1 7:0.5 3:2\n\n-1\t  1:1e-2 # comment\n0\n2.5 9\n"));
  EXPECT_EQ(rows.schema().ToString(), "label: f32\nfeatures: weighted_ids\n");
  EXPECT_THAT(rows[0].floats.span(), ElementsAre(1, -1, 0, 2.5f));
  EXPECT_THAT(rows[1].ids(0), ElementsAre(7, 3));
  EXPECT_THAT(rows[1].weights(0), ElementsAre(0.5f, 2));
  EXPECT_THAT(rows[1].weights(1), ElementsAre(1e-2f));
  EXPECT_TRUE(rows[1].ids(2).empty());
  EXPECT_THAT(rows[1].weights(3), ElementsAre(1));
}

TEST_F(Libsvm, QueriesAndTheFirstIndexAreKnown) {
  options_.text.first_index = 1;
  const RowBlock rows = ReadRest(*Open("3 qid:10 1:0.5 2:1\n1 qid:11 2:7\n"));
  EXPECT_THAT(rows[2].ints.span(), ElementsAre(10, 11));
  EXPECT_THAT(rows[1].ids(0), ElementsAre(0, 1));
  EXPECT_EQ(Problem("1 0:5\n"), "f.libsvm:1: index 0 in '0:5'; the first is 1");
  EXPECT_EQ(Problem("3 qid:1 1:1\n2 1:1\n"),
            "f.libsvm:2: found '1:1', wanted 'qid:' and a number, as in the first row");
}

TEST_F(Libsvm, FieldsOfLibffmStandBesideTheFeatures) {
  const RowBlock rows = ReadRest(*Open("1 0:5:0.5 2:7:1\n0 1:6:2\n", "f.ffm"));
  EXPECT_EQ(rows.schema().ToString(), "label: f32\nfeatures: weighted_ids\nfields: ids\n");
  EXPECT_THAT(rows[1].ids(0), ElementsAre(5, 7));
  EXPECT_THAT(rows[2].ids(0), ElementsAre(0, 2));
  EXPECT_EQ(Problem("1 0:5:1 7\n", "f.ffm"), "f.ffm:1: found '7', wanted 'field:index:value'");
  options_.columns = {"fields"};
  EXPECT_THAT(ReadRest(*Open("1 0:5:0.5 2:7:1\n", "f.ffm"))[0].ids(0), ElementsAre(0, 2));
}

TEST_F(Libsvm, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(Problem("1 1:1\nx 1:1\n"), "f.libsvm:2: found 'x', wanted a label: a number");
  EXPECT_EQ(Problem("1 1:1 2:\n"), "f.libsvm:1: found '2:', wanted 'index:value'");
  EXPECT_EQ(Problem("1 a:1\n"), "f.libsvm:1: found 'a:1', wanted 'index:value'");
  options_.bad_rows.limit = 2;
  testing::CheckPositions([&] { return Open("1 1:1\nx\n2 2:2\n3 y\n4\n#c\n\n5 1:1"); }, 1);
}

}  // namespace
}  // namespace catamaran

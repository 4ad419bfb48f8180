#include "catamaran/data/text/csv_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/reader_test_util.h"

namespace catamaran {
namespace {

using testing::CheckPositions;
using ::testing::ElementsAre;
using testing::MessageOf;
using testing::ReadRest;

class Csv : public testing::TextFileTest {
 protected:
  Csv() : TextFileTest("f.csv") {}
};

TEST_F(Csv, ColumnsTakeTheFieldsOfTheirNames) {
  Declare("city: string\nage: i64\nw: f32\nshade: u8");
  const RowBlock rows =
      Rows("w,skipped,age,city,shade\n1.5,x,30,\"New \"\"York\"\", NY\",7\n,y,-4,,255\n");
  ASSERT_EQ(rows.rows(), 2);
  EXPECT_EQ(rows[0].text(0), "New \"York\", NY");
  EXPECT_EQ(rows[0].text(1), "");
  EXPECT_THAT(rows[1].ints.span(), ElementsAre(30, -4));
  EXPECT_EQ(rows[2].floats[0], 1.5f);
  EXPECT_TRUE(std::isnan(rows[2].floats[1]));
  EXPECT_THAT(rows[3].bytes.span(), ElementsAre(7, 255));
}

TEST_F(Csv, WithoutNamesColumnsTakeFieldsFromTheLeft) {
  Declare("label: i64\nx: f32[3]\nname: string");
  const RowBlock rows = Rows("1,2,3,4,a\n5,6,7,8,b\n");
  EXPECT_THAT(rows[0].ints.span(), ElementsAre(1, 5));
  EXPECT_THAT(rows[1].floats.span(), ElementsAre(2, 3, 4, 6, 7, 8));
  EXPECT_EQ(rows[2].text(1), "b");
  EXPECT_EQ(Problem("1,2,3\n"),
            "f.csv: the columns take 5 fields, but the first row has 3 and no names");
}

TEST_F(Csv, AColumnOfSeveralValuesTakesNumberedFields) {
  Declare("x: f32[3]\ny: i64");
  for (const std::string header : {"x0,x1,y,x2", "x1,x2,y,x3", "x_0,x_1,y,x_2", "x.1,x.2,y,x.3"}) {
    const RowBlock rows = Rows(header + "\n1,2,9,3\n");
    EXPECT_THAT(rows[0].floats.span(), ElementsAre(1, 2, 3)) << header;
  }
  EXPECT_EQ(Problem("x0,x1,y\n1,2,3\n"),
            "f.csv: column 'x' has 3 values, but there are no fields x0, x1, … or x1, x2, …");
}

TEST_F(Csv, AFieldThatIsNotThereIsAnErrorThatOffersSimilarOnes) {
  Declare("agee: i64");
  EXPECT_EQ(Problem("name,age\na,1\n"), "f.csv: there is no field 'agee'; did you mean 'age'?");
  Declare("zzz: i64");
  EXPECT_EQ(Problem("name,age\na,1\n"), "f.csv: there is no field 'zzz'; the fields are name, age");
  EXPECT_EQ(Problem("a,a\n1,1\n"),
            "f.csv: the columns take 1 fields, but the first row has 2 and no names");
  options_.text.header = true;
  EXPECT_EQ(Problem("a,a\n1,1\n"), "f.csv: two fields are named 'a'; give them other names");
}

TEST_F(Csv, ListsOfIdsMayHaveWeights) {
  Declare("a: ids\nb: weighted_ids\nc: ids");
  options_.text.hexadecimal = {"c"};
  options_.text.list_separator = '|';
  const RowBlock rows = Rows("a,b,c\n1|2|3,7:0.5|8,ff|10\n,NA,\n5,-3:2,0\n");
  EXPECT_THAT(rows[0].ids(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(rows[1].ids(0), ElementsAre(7, 8));
  EXPECT_THAT(rows[1].weights(0), ElementsAre(0.5f, 1));
  EXPECT_THAT(rows[2].ids(0), ElementsAre(255, 16));
  for (int c = 0; c < 3; ++c) EXPECT_TRUE(rows[c].ids(1).empty());
  EXPECT_THAT(rows[1].ids(2), ElementsAre(-3));
  EXPECT_EQ(Problem("a,b,c\n1|x,1:1,0\n"), "f.csv:2: column 'a': found 'x', wanted an id");
  EXPECT_EQ(Problem("a,b,c\n1,1:x,0\n"), "f.csv:2: column 'b': found '1:x', wanted 'id:weight'");
}

TEST_F(Csv, KindsAreInferredFromTheFirstRows) {
  EXPECT_EQ(Inferred("a,b,c,d,e\n1,1.5,x,,007\n-2,3,y,NA,010\n"),
            "a: i64\nb: f32\nc: string\nd: string\ne: string\n");
  // Whole numbers with some missing have no i64 for those.
  EXPECT_EQ(Inferred("a,b\n1,?\n,2\n"), "a: f32\nb: f32\n");
  EXPECT_EQ(Inferred("1;2\n3;x\n"), "c1: i64\nc2: string\n");
  EXPECT_EQ(Inferred("a\tb\n1\t2\n"), "a: i64\nb: i64\n");
  options_.text.infer_rows = 1;
  EXPECT_EQ(
      Problem("a\n1\nx\n"),
      "f.csv:3: column 'a': found 'x', wanted a whole number (i64); its kind was inferred from "
      "the first rows, a schema can say another");
}

TEST_F(Csv, AnInferredSchemaCanBeSavedAndDeclared) {
  const std::string text = "id,price,name\n1,2.5,a\n2,NA,b\n";
  const auto inferred = Open(text);
  const RowBlock rows = ReadRest(*inferred);
  Declare(inferred->schema().ToString());
  EXPECT_TRUE(Rows(text) == rows);
}

TEST_F(Csv, TheHeaderAndNamesMayBeGiven) {
  options_.text.names = {"a", "b"};
  EXPECT_EQ(Inferred("x,y\n1,2\n"), "a: string\nb: string\n");
  options_.text.header = true;
  EXPECT_EQ(Inferred("x,y\n1,2\n"), "a: i64\nb: i64\n");
  EXPECT_EQ(MessageOf([&] { Open("x,y,z\n1,2,3\n"); }),
            "f.csv:1: 2 names are given, but the first row has 3 fields");
  options_.text.names.clear();
  options_.text.header = false;
  EXPECT_EQ(Inferred("x,y\n1,2\n"), "c1: string\nc2: string\n");
  options_.text.header.reset();
  options_.text.skip_lines = 2;
  EXPECT_EQ(Inferred("# \"odd\n\nx,y\n1,2\n"), "x: i64\ny: i64\n");
}

TEST_F(Csv, SpacesAfterEverySeparatorAreLeftOut) {
  const RowBlock rows = Rows("a,b,c\n1, x y, 3\n2, ?, 4\n");
  EXPECT_EQ(rows.schema().ToString(), "a: i64\nb: string\nc: i64\n");
  EXPECT_EQ(rows[1].text(0), "x y");
  EXPECT_EQ(rows[1].text(1), "?");
  options_.text.trim = false;
  EXPECT_EQ(Rows("a,b,c\n1, x y, 3\n")[1].text(0), " x y");
}

TEST_F(Csv, WhatIsMissingMayBeSaid) {
  Declare("a: f32\nb: string\nc: i64");
  options_.text.missing = {{"-", "none"}};
  options_.text.missing_integer = -1;
  const RowBlock rows = Rows("a,b,c\n-,none,5\n1,x,-\n");
  EXPECT_TRUE(std::isnan(rows[0].floats[0]));
  EXPECT_EQ(rows[1].text(0), "");
  EXPECT_THAT(rows[2].ints.span(), ElementsAre(5, -1));
  EXPECT_EQ(Problem("a,b,c\nNA,x,1\n"), "f.csv:2: column 'a': found 'NA', wanted a number");
  options_.text = {};
  EXPECT_EQ(Problem("a,b,c\n1,x,\n"),
            "f.csv:2: column 'c': found nothing, wanted a whole number (i64)");
}

TEST_F(Csv, ColumnsMayBeChosen) {
  options_.columns = {"c", "a"};
  const RowBlock rows = Rows("a,b,c\n1,x,2.5\n3,y,4\n");
  EXPECT_EQ(rows.schema().ToString(), "c: f32\na: i64\n");
  EXPECT_THAT(rows[1].ints.span(), ElementsAre(1, 3));
  // What is not chosen is not looked at.
  Declare("a: i64\nb: i64\nc: f32");
  EXPECT_EQ(Rows("a,b,c\n1,x,2.5\n").rows(), 1);
}

TEST_F(Csv, BadRowsAreReportedWithTheirLinesCountedAndSkipped) {
  Declare("a: i64\nb: string");
  std::vector<std::string> reports;
  options_.bad_rows = {.limit = 5,
                       .report = [&](const std::string& message) { reports.push_back(message); }};
  const std::string text =
      "a,b\n1,ok\nx,bad\n2\n3,\"two\nlines\"\n4,5\" disk\n5,ok\n6,\"a\"b\n7,ok\n8,1,2\n9,ok\n";
  const RowBlock rows = Rows(text);
  EXPECT_THAT(rows[0].ints.span(), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(
      reports,
      ElementsAre("f.csv:3: column 'a': found 'x', wanted a whole number (i64)",
                  "f.csv:4: 1 field, wanted 2",
                  "f.csv:7: column 'b': a quote within a field that does not begin with one: "
                  "'5\" disk'",
                  "f.csv:9: column 'b': characters after a closing quote: '\"a\"b'",
                  "f.csv:11: 3 fields, wanted 2"));
  CheckPositions([&] { return Open(text); }, 1);
  options_.bad_rows.limit = 2;
  EXPECT_EQ(Problem("a,b\nx,1\ny,1\nz,1\n"),
            "f.csv:4: column 'a': found 'z', wanted a whole number (i64) (2 bad rows were skipped "
            "before it, and no more are allowed)");
}

TEST_F(Csv, AQuoteThatIsNotClosedIsSaidWithTheLineThatItBeginsOn) {
  Declare("a: i64\nb: string");
  EXPECT_EQ(Problem("a,b\n1,x\n2,\"y\n3,z\n"),
            "f.csv:3: column 'b': a quote that is not closed: '\"y'");
}

TEST_F(Csv, PositionsAreExactAlsoInGzippedFilesAndLists) {
  std::string text = "a,b\n";
  for (int i = 0; i < 500; ++i) text += fmt::format("{},\"row\n{}\"\n", i, i * i);
  CheckPositions([&] { return Open(text); }, 7);
#if CATAMARAN_WITH_ZLIB
  WriteFileAtomically(fs_, "1.csv.gz", testing::Gzipped(text));
  WriteFileAtomically(fs_, "2.csv", "a,b\n1,x\n2,y");
  CheckPositions([&] { return OpenReader(fs_, std::vector<std::string>{"*.csv*"}); }, 7);
#endif
  PositionWriter other("csv");
  other.Put(int64_t{1 << 20});
  other.Put(int64_t{5});
  other.Put(int64_t{0});
  EXPECT_EQ(MessageOf([&] { Open("a,b\n1,2\n")->Seek(other.Take()); }),
            "f.csv: cannot go to byte 1048575: there are 8");
}

TEST_F(Csv, WhatIsInferredFromTheFirstFileHoldsForAll) {
  WriteFileAtomically(fs_, "1.csv", "a,b\n1.5,x\n");
  WriteFileAtomically(fs_, "2.csv", "b,a\n7,2\n");
  const RowBlock rows = ReadRest(*OpenReader(fs_, std::vector<std::string>{"1.csv", "2.csv"}));
  EXPECT_THAT(rows[0].floats.span(), ElementsAre(1.5f, 2));
  EXPECT_EQ(rows[1].text(1), "7");
  options_.columns = {"b"};
  EXPECT_EQ(ReadRest(*OpenReader(fs_, std::vector<std::string>{"1.csv", "2.csv"}, options_)).rows(),
            2);
}

TEST_F(Csv, AnEmptyFileHasNoRowsButNoColumnsOfItsOwn) {
  EXPECT_EQ(Problem("\n\n"),
            "f.csv: is empty: its columns cannot be inferred, a schema must say them");
  EXPECT_EQ(Rows("a,b\n").rows(), 0);
  Declare("a: i64\nb: f32[7]");
  EXPECT_EQ(Rows("").rows(), 0);
  WriteFileAtomically(fs_, "1.csv", "a,b\n1,2\n");
  WriteFileAtomically(fs_, "2.csv", "");
  WriteFileAtomically(fs_, "3.csv", "a,b\n3,4\n");
  EXPECT_EQ(ReadRest(*OpenReader(fs_, std::vector<std::string>{"[123].csv"})).rows(), 2);
}

TEST_F(Csv, APositionOfAnotherFileIsRefused) {
  const auto reader = Open("a,b\n1,2\n3,4\n");
  RowBlock block;
  reader->Read(1, block);
  EXPECT_EQ(MessageOf([&] { Open("a,b\n111,222\n333,444\n")->Seek(reader->position()); }),
            "f.csv: no line begins at byte 8; is it another file than it was?");
}

std::string CriteoRow(int label, const std::string& first_id) {
  std::string row = label < 0 ? "" : fmt::format("{}\t", label);
  for (int i = 0; i < 13; ++i) row += i == 3 ? "\t" : fmt::format("{}\t", i - 1);
  row += first_id;
  for (int i = 1; i < 26; ++i) row += i == 5 ? "\t" : fmt::format("\t{:08x}", 0xff00 + i);
  return row + "\n";
}

TEST_F(Csv, CriteosRowsHaveTheirOwnColumns) {
  options_.format = "criteo";
  const RowBlock rows = Rows(CriteoRow(1, "68fd1e64") + CriteoRow(0, ""));
  ASSERT_EQ(rows.rows(), 2);
  ASSERT_EQ(rows.schema().size(), 28);
  EXPECT_EQ(rows.schema()[1].KindText(), "f32[13]");
  EXPECT_THAT(rows[0].floats.span(), ElementsAre(1, 0));
  EXPECT_EQ(rows[1].floats[0], -1);
  EXPECT_TRUE(std::isnan(rows[1].floats[3]));
  EXPECT_THAT(rows[2].ids(0), ElementsAre(0x68fd1e64));
  EXPECT_TRUE(rows[2].ids(1).empty());
  EXPECT_TRUE(rows[7].ids(0).empty());
  EXPECT_THAT(rows[27].ids(0), ElementsAre(0xff19));

  EXPECT_EQ(Rows(CriteoRow(-1, "1")).schema().size(), 27);
  EXPECT_EQ(Problem("1\t2\n"),
            "f.csv: the first row has 2 fields; Criteo's have 40, or 39 without the label");
  EXPECT_EQ(Problem(CriteoRow(1, "xyz")),
            "f.csv:1: column 'C1': found 'xyz', wanted a hexadecimal id");
  Declare("label: i64\nI2: f32\nC1: string\nC2: ids");
  const RowBlock own = Rows(CriteoRow(1, "68fd1e64"));
  EXPECT_EQ(own[2].text(0), "68fd1e64");
  EXPECT_THAT(own[3].ids(0), ElementsAre(0xff01));
}

TEST_F(Csv, OnlyColumnsThatAreWantedMustBeThere) {
  Declare("user: i64\nage: f32\nlabel: f32");
  options_.columns = {"user", "age"};
  const RowBlock rows = Rows("user,age\n1,2.5\n");
  EXPECT_EQ(rows[0].ints[0], 1);
  EXPECT_EQ(rows[1].floats[0], 2.5f);
  options_.columns.clear();
  EXPECT_THAT(MessageOf([&] { Rows("user,age\n1,2.5\n"); }),
              ::testing::HasSubstr("there is no field 'label'"));
  options_.defaults = {{.column = "label"}};
  EXPECT_EQ(Rows("user,age\n1,2.5\n").schema().size(), 2);
}

}  // namespace
}  // namespace catamaran

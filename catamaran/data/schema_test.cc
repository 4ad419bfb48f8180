#include "catamaran/data/schema.h"

#include <gtest/gtest.h>

#include "catamaran/data/data_test_util.h"

namespace catamaran {
namespace {

using testing::EveryKind;
using testing::MessageOf;

TEST(Schema, PrintsAsTextThatParsesBack) {
  const Schema schema = EveryKind();
  EXPECT_EQ(schema.ToString(),
            "label: f32\n"
            "when: i64\n"
            "pixels: u8[2, 3]\n"
            "items: ids\n"
            "tags: weighted_ids\n"
            "title: string\n");
  EXPECT_EQ(Schema::Parse(schema.ToString()), schema);
  EXPECT_EQ(Schema::Parse("  label :f32 \n\n when:i64\npixels: u8[2,3]\r\nitems: ids\n"
                          "tags: weighted_ids\ntitle: string"),
            schema);
  EXPECT_EQ(Schema::Parse(""), Schema());
}

TEST(Schema, NamesMayHaveColonsAndSpaces) {
  const Schema schema({Column::Dense("a: b, [2]"), Column::Ids("größe")});
  EXPECT_EQ(Schema::Parse(schema.ToString()), schema);
}

TEST(Schema, TheHashIsStoredInFilesAndNeverChanges) {
  EXPECT_EQ(EveryKind().hash(), 2312305528366880413u);
  EXPECT_NE(Schema({Column::Dense("a")}).hash(), Schema({Column::Dense("b")}).hash());
  EXPECT_NE(Schema({Column::Dense("a")}).hash(), Schema({Column::Ids("a")}).hash());
  EXPECT_NE(Schema({Column::Dense("a", DType::kU8, {2, 3})}).hash(),
            Schema({Column::Dense("a", DType::kU8, {3, 2})}).hash());
}

TEST(Schema, FindsColumnsByNameAndOffersSimilarOnes) {
  const Schema schema = EveryKind();
  EXPECT_EQ(schema.Find("tags"), 4);
  EXPECT_EQ(schema.Find("nothing"), -1);
  EXPECT_EQ(MessageOf([&] { schema.Index("lable", "a.csv"); }),
            "a.csv: there is no column 'lable'; did you mean 'label'?");
}

TEST(Schema, SelectsColumnsInTheOrderAskedFor) {
  const std::string wanted[] = {"title", "label"};
  EXPECT_EQ(EveryKind().Select(wanted, "a.rec").ToString(), "title: string\nlabel: f32\n");
  const std::string twice[] = {"title", "title"};
  EXPECT_EQ(MessageOf([&] { EveryKind().Select(twice, "a.rec"); }),
            "a.rec: the column 'title' is asked for twice");
}

TEST(Schema, RefusesColumnsThatCannotBe) {
  const auto error = [](std::vector<Column> columns) {
    return MessageOf([&] { Schema schema(std::move(columns)); });
  };
  EXPECT_EQ(error({Column::Dense("a"), Column::Ids("a")}), "schema: two columns are named 'a'");
  EXPECT_EQ(error({Column::Dense("")}), "schema: a column has no name");
  EXPECT_EQ(error({Column::Dense("a", DType::kF64)}),
            "schema: column 'a': its numbers must be f32, i64 or u8");
  EXPECT_NE(error({Column::Dense("a\n: ids\nb")}).find("control characters"), std::string::npos);
  EXPECT_NE(error({Column::Dense("a", DType::kU8, {0, 3})}).find("has 0 elements"),
            std::string::npos);
  EXPECT_NE(error({Column::Dense("a", DType::kU8, {1 << 20, 1 << 20})}).find("wanted 1 to"),
            std::string::npos);
}

TEST(Schema, ErrorsInTextNameTheLine) {
  const auto error = [](std::string_view text) {
    return MessageOf([&] { Schema::Parse(text, "columns.txt"); });
  };
  EXPECT_EQ(error("a: f32\nb"), "columns.txt:2: wanted 'name: kind', found 'b'");
  EXPECT_TRUE(error("\na: f64").starts_with("columns.txt:2: column 'a': 'f64' is no kind"));
  EXPECT_TRUE(error("a: f32[2, x]").starts_with("columns.txt:1: column 'a': 'f32[2, x]' is no"));
  EXPECT_TRUE(error("a: f32[]").starts_with("columns.txt:1: "));
  EXPECT_EQ(error("\na: u8[0]"),
            "columns.txt:2: schema: column 'a': a row of shape [0] has 0 elements; wanted 1 to "
            "268435456");
  EXPECT_EQ(error("a: f32\na: ids"), "columns.txt: schema: two columns are named 'a'");
}

TEST(Schema, SaysWhereTwoDiffer) {
  const Schema a({Column::Dense("x"), Column::Ids("y")});
  EXPECT_EQ(Difference(a, a), "");
  EXPECT_EQ(Difference(a, Schema({Column::Dense("x"), Column::String("y")})),
            "column 2 is 'y: string', wanted 'y: ids'");
  EXPECT_EQ(Difference(a, Schema({Column::Dense("x")})), "column 2 is none, wanted 'y: ids'");
}

}  // namespace
}  // namespace catamaran

#include "catamaran/data/text/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/reader_test_util.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::MessageOf;
using testing::ReadRest;

class JsonLines : public testing::TextFileTest {
 protected:
  JsonLines() : TextFileTest("f.jsonl") {}
};

TEST_F(JsonLines, MembersOfNestedObjectsAreNamedWithDots) {
  Declare("user.age: i64\nuser.home.city: string\nclicked: u8\nprice: f32");
  const RowBlock rows = Rows(
      R"({"user": {"age": 30, "home": {"city": "K\u00f6ln", "x": 1}}, "clicked": true, "price": 2.5})"
      "\n\n"
      R"({"price": null, "clicked": false, "user.age": -1})"
      "\n");
  EXPECT_THAT(rows[0].ints.span(), ElementsAre(30, -1));
  EXPECT_EQ(rows[1].text(0), "Köln");
  EXPECT_EQ(rows[1].text(1), "");
  EXPECT_THAT(rows[2].bytes.span(), ElementsAre(1, 0));
  EXPECT_EQ(rows[3].floats[0], 2.5f);
  EXPECT_TRUE(std::isnan(rows[3].floats[1]));
}

TEST_F(JsonLines, ArraysBecomeDenseColumnsOrLists) {
  Declare("v: f32[2, 2]\na: ids\nw: weighted_ids\nt: string");
  const RowBlock rows =
      Rows(R"({"v": [[1, 2], [3, null]], "a": [5, 6], "w": [[7, 0.5], 8], "t": ["x", {"y": 1}]})"
           "\n"
           R"({"v": [1, 2, 3, 4], "a": 9, "w": {"10": 2, "11": 3}, "t": 1.50})"
           "\n{}\n");
  EXPECT_EQ(rows[0].floats[2], 3);
  EXPECT_TRUE(std::isnan(rows[0].floats[3]));
  EXPECT_EQ(rows[0].floats[7], 4);
  EXPECT_TRUE(std::isnan(rows[0].floats[8]));
  EXPECT_THAT(rows[1].ids(0), ElementsAre(5, 6));
  EXPECT_THAT(rows[1].ids(1), ElementsAre(9));
  EXPECT_THAT(rows[2].weights(0), ElementsAre(0.5f, 1));
  EXPECT_THAT(rows[2].ids(1), ElementsAre(10, 11));
  EXPECT_THAT(rows[2].weights(1), ElementsAre(2, 3));
  EXPECT_TRUE(rows[2].ids(2).empty());
  EXPECT_EQ(rows[3].text(0), R"(["x", {"y": 1}])");
  EXPECT_EQ(rows[3].text(1), "1.50");
}

TEST_F(JsonLines, KindsAreInferredFromTheFirstRows) {
  EXPECT_EQ(
      Inferred(
          R"({"i": 1, "b": true, "f": 1.5, "s": "x", "ids": [1, 2], "v": [0.5, 1],)"
          R"( "w": [[1, 0.5]], "m": 1, "o": {"p": 7}, "n": null, "e": {}, "tags": ["a"]})"
          "\n"
          R"({"i": 2, "b": false, "f": 3, "s": "y", "ids": [], "v": [1, 2], "w": [], "m": "x",)"
          R"( "o": {"p": 8}, "e": {}, "late": 5, "tags": []})"
          "\n"),
      "i: i64\nb: i64\nf: f32\ns: string\nids: ids\nv: f32[2]\nw: weighted_ids\nm: string\n"
      "o.p: i64\nn: string\ne: string\ntags: string\nlate: f32\n");
}

TEST_F(JsonLines, WhatIsWrongIsSaidWithLineAndColumn) {
  Declare("a: i64\nv: f32[2]");
  EXPECT_EQ(Problem("{\"a\": 1, \"v\": [1, 2]}\n{\"a\": 1, }\n"),
            "f.jsonl:2: is no JSON: byte 10: found '}' where a name in quotes should stand");
  EXPECT_EQ(Problem("[1]\n"), "f.jsonl:1: found an array, wanted an object");
  EXPECT_EQ(Problem("{\"a\": 1.5}\n"),
            "f.jsonl:1: column 'a': found a number '1.5', wanted a whole number (i64)");
  EXPECT_EQ(Problem("{\"a\": \"1\"}\n"),
            "f.jsonl:1: column 'a': found a string '1', wanted a whole number (i64)");
  EXPECT_EQ(Problem("{\"v\": [1, 2]}\n"), "f.jsonl:1: column 'a': found nothing, wanted i64");
  EXPECT_EQ(Problem("{\"a\": 1, \"v\": [1, 2, 3]}\n"),
            "f.jsonl:1: column 'v': found an array of 3, wanted 2 (f32[2])");
  EXPECT_EQ(Problem("{\"a\": 1, \"v\": [1, \"x\"]}\n"),
            "f.jsonl:1: column 'v': found a string 'x', wanted a number");
  EXPECT_EQ(Problem("{\"a\": 1, \"a\": 2}\n"), "f.jsonl:1: column 'a': the name stands twice");
  EXPECT_EQ(Problem("{\"a\": \"\xff\"}\n"), "f.jsonl:1: is no JSON: byte 8: the text is not UTF-8");
}

TEST_F(JsonLines, PositionsAreExactAndBadRowsAreSkipped) {
  options_.bad_rows.limit = 2;
  options_.text.missing_integer = 0;
  Declare("a: i64");
  const std::string text = "{\"a\": 1}\n{}\nbad\n{\"a\": 3}\n\n[]\n{\"a\": 4}";
  EXPECT_THAT(Rows(text)[0].ints.span(), ElementsAre(1, 0, 3, 4));
  testing::CheckPositions([&] { return Open(text); }, 1);
}

TEST_F(JsonLines, ARowWithoutAColumnThatIsNeededIsABadRow) {
  Declare("message: string\nn: f32");
  options_.need_columns = true;
  EXPECT_THAT(MessageOf([&] {
                Rows(R"({"message": "a", "n": 1})"
                     "\n"
                     R"({"mesage": "b", "n": 2})"
                     "\n");
              }),
              ::testing::HasSubstr(
                  "f.jsonl:2: the column 'message' (string) is missing; did you mean it by "
                  "'mesage'?"));
}

TEST_F(JsonLines, InferredColumnsThatSomeRowsLackMayBeMissing) {
  options_.need_columns = true;
  const RowBlock rows = Rows("{\"a\": 1.5, \"b\": 2}\n{\"b\": 3}\n");
  EXPECT_TRUE(std::isnan(rows[0].floats[1]));
}

}  // namespace
}  // namespace catamaran

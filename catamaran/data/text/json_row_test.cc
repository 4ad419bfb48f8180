#include "catamaran/data/text/json_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace catamaran {
namespace {

using ::testing::HasSubstr;

const Schema kColumns = Schema::Parse("message: string\nuser.age: f32\nn: i64");

// What is wrong with the row; "": it was taken.
std::string Problem(const JsonRowRules& rules, std::string_view text) {
  JsonRow row(kColumns, std::nullopt, rules);
  RowBlock block(kColumns);
  return row.Append(text, block);
}

const JsonRowRules kStrict = {.need_columns = true, .refuse_unknown = true, .known = {"label"}};

TEST(JsonRow, AMisspeltColumnWasTakenAsIfTheTextWereEmpty) {
  EXPECT_EQ(Problem(kStrict, R"({"mesage": "hi", "user": {"age": 3}, "n": 1})"),
            "there is no column 'mesage'; did you mean 'message'?");
  EXPECT_EQ(Problem(kStrict, R"({"message": "hi", "user": {"agee": 3}, "n": 1})"),
            "there is no column 'user.agee'; did you mean 'user.age'?");
  EXPECT_EQ(Problem(kStrict, R"({"message": "hi", "xyzzy": 1, "n": 1})"),
            "there is no column 'xyzzy'; the columns are message, user.age, n");
}

TEST(JsonRow, AnEmptyRowWasTakenAsIfAllWereEmpty) {
  EXPECT_EQ(Problem(kStrict, "{}"), "the column 'message' (string) is missing");
  EXPECT_EQ(Problem({.need_columns = true}, R"({"mesage": "hi"})"),
            "the column 'message' (string) is missing; did you mean it by 'mesage'?");
}

TEST(JsonRow, KnownColumnsAndNullAreFine) {
  EXPECT_EQ(Problem(kStrict, R"({"message": null, "user": {"age": null}, "n": 1, "label": 1})"),
            "");
  EXPECT_EQ(Problem({}, R"({"n": 1, "whatever": {"it": "is"}})"), "");
}

TEST(JsonRow, DefaultsStandForWhatIsNotThere) {
  JsonRowRules rules = kStrict;
  rules.defaults = {
      {.column = "message", .text = "none"}, {.column = "user.age"}, {.column = "n", .number = 7}};
  JsonRow row(kColumns, std::nullopt, rules);
  RowBlock block(kColumns);
  ASSERT_EQ(row.Append("{}", block), "");
  block.FinishRow();
  EXPECT_EQ(block[0].text(0), "none");
  EXPECT_TRUE(std::isnan(block[1].floats[0]));
  EXPECT_EQ(block[2].ints[0], 7);
  EXPECT_FALSE(row.incomplete());
}

TEST(JsonRow, LenientRulesTakeTheRowAndSaySo) {
  JsonRowRules rules = kStrict;
  rules.lenient = true;
  JsonRow row(kColumns, std::nullopt, rules);
  RowBlock block(kColumns);
  ASSERT_EQ(row.Append(R"({"mesage": "hi", "n": 1})", block), "");
  block.FinishRow();
  EXPECT_TRUE(row.incomplete());
  EXPECT_TRUE(row.unknown());
  ASSERT_EQ(row.Append(R"({"message": "hi", "user.age": 3, "n": 1})", block), "");
  EXPECT_FALSE(row.incomplete());
  EXPECT_FALSE(row.unknown());
}

}  // namespace
}  // namespace catamaran

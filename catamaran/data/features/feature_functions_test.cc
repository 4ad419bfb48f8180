// Texts, times and lists.

#include <cmath>

#include "catamaran/data/features/features_test_util.h"
#include "catamaran/data/features/standard_functions.h"
#include "catamaran/data/features/time_text.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Ints;
using testing::Refusal;
using testing::RowsOf;
using testing::Transformed;

std::vector<std::string> Texts(const RowBlock& rows, const std::string& expression) {
  const RowBlock out = Transformed(rows, "x = " + expression);
  std::vector<std::string> texts;
  for (int64_t r = 0; r < out.rows(); ++r) texts.emplace_back(out[0].text(r));
  return texts;
}

TEST(FeatureText, CaseEndsAndBeginnings) {
  const RowBlock rows = RowsOf("t\n\" Big Cat \"\n\"\"\n");
  EXPECT_THAT(Texts(rows, "lower(t)"), ElementsAre(" big cat ", ""));
  EXPECT_THAT(Texts(rows, "trim(t)"), ElementsAre("Big Cat", ""));
  EXPECT_THAT(Texts(rows, "prefix(trim(t), bytes=3)"), ElementsAre("Big", ""));
  EXPECT_THAT(Texts(rows, "fill(t, \"none\")"), ElementsAre(" Big Cat ", "none"));
  EXPECT_THAT(Floats(rows, "length(t)"), ElementsAre(9, 0));
}

TEST(FeatureText, PartsAndWordsHaveTheIdsOfTheirTexts) {
  const RowBlock rows = RowsOf("t,a,b\nDrama|War|,Drama,War\n\"It's 2 late, Ann\",it's,ann\n");
  EXPECT_EQ(Ints(rows, "hash(split(t, by=\"|\"), salt=s)")[1], Ints(rows, "hash(b, salt=s)")[0]);
  const RowBlock out = Transformed(
      rows,
      "x = hash(tokens(t, ngrams=2), salt=s)\ny = hash(a, salt=s)\nz = hash(split(t, by=\"|\"))");
  EXPECT_EQ(out[0].ids(1).size(), 4u + 3u);
  EXPECT_EQ(out[0].ids(1)[0], out[1].ints[1]);
  EXPECT_EQ(out[2].ids(0).size(), 2u);
  EXPECT_EQ(out[2].ids(1).size(), 1u);
  EXPECT_THAT(Refusal(rows, "tokens(t)"), HasSubstr("a list of texts, which no column holds"));
}

TEST(FeatureText, CharactersAreThoseOfUtf8) {
  const RowBlock rows = RowsOf("t\nh\xc3\xa9llo\nab\n\"\"\n");
  EXPECT_THAT(Floats(rows, "length(characters(t))"), ElementsAre(5, 2, 0));
  EXPECT_THAT(Floats(rows, "length(characters(t, ngrams=3))"), ElementsAre(3, 0, 0));
  EXPECT_THAT(Floats(rows, "length(take(characters(t), count=4))"), ElementsAre(4, 2, 0));
}

TEST(FeatureTime, TimesAreSecondsSince1970) {
  const auto seconds = [](std::string_view text) {
    double value = -1;
    return ParseTime(text, 0, &value) ? value : -1;
  };
  EXPECT_EQ(seconds("1970-01-02"), 86400);
  EXPECT_EQ(seconds("2022-01-01 00:10:58"), 1640995858);
  EXPECT_EQ(seconds("2013-01-01T06:00:00Z"), 1357020000);
  EXPECT_EQ(seconds("2013-01-01T07:00:00.5+01:00"), 1357020000.5);
  EXPECT_EQ(seconds("01-Jan-1995"), 788918400);
  EXPECT_EQ(seconds("1 January 1995"), 788918400);
  EXPECT_EQ(seconds("Jan 1, 1995"), 788918400);
  EXPECT_EQ(seconds("19950101"), 788918400);
  EXPECT_EQ(seconds("2000-02-29"), 951782400);
  for (const char* wrong : {"", "1995", "2001-02-29", "2001-13-01", "2001-01-01T", "2001-01-01 1",
                            "2001-01-01 10:61", "01-Jax-1995", "2001-01-01 10:00 x"}) {
    EXPECT_EQ(seconds(wrong), -1) << wrong;
  }
}

TEST(FeatureTime, TheCalendarGoesBothWays) {
  for (int64_t day = -800'000; day < 800'000; day += 37) {
    const CalendarTime time = ToCalendar(static_cast<double>(day) * 86400 + 3661);
    EXPECT_EQ(DaysOf(time.year, time.month, time.day), day);
    EXPECT_EQ(time.hour * 10000 + time.minute * 100 + time.second, 10101);
    EXPECT_EQ(DaysOf(time.year, 1, 1) + time.day_of_year - 1, day);
  }
}

TEST(FeatureTime, PartsOfTextAndOfNumbersAreEqual) {
  const RowBlock rows = RowsOf("t,n\n2022-01-01 00:10:58,1640995858\n,\n");
  for (const std::string part : {"year", "month", "day", "weekday", "hour", "minute", "second"}) {
    EXPECT_EQ(Floats(rows, part + "(t)")[0], Floats(rows, part + "(time(t))")[0]);
    EXPECT_TRUE(std::isnan(Floats(rows, part + "(t)")[1]));
  }
  EXPECT_EQ(Floats(rows, "weekday(t)")[0], 5);  // a Saturday
  EXPECT_EQ(Floats(rows, "hour(t, zone=\"-05:00\")")[0], 0);
  EXPECT_EQ(Floats(rows, "hour(time(t, zone=\"-05:00\"))")[0], 5);
  EXPECT_EQ(Floats(rows, "hour(time(t), zone=\"+02:00\")")[0], 2);
  EXPECT_THAT(Refusal(rows, "hour(t, zone=CET)"), HasSubstr("wanted an offset from UTC"));
  EXPECT_THAT(Refusal(RowsOf("t\nnow\n"), "hour(t)"),
              HasSubstr("row 0: found 'now', wanted a time"));
}

TEST(FeatureLists, ListsAreJoinedAndWeighted) {
  const RowBlock rows =
      RowsOf("{\"a\": [1, 2], \"w\": [[5, 0.5]], \"n\": 3}\n{\"a\": [], \"n\": 4}\n", "r.jsonl",
             {.schema = Schema::Parse("a: ids\nw: weighted_ids\nn: i64\n")});
  EXPECT_THAT(Ints(rows, "ids(a, n)"), ElementsAre(1, 2, 3, 4));
  const RowBlock out = Transformed(rows, "x = concat(a, w)\ny = weighted(ids(n), 0.25)\n");
  EXPECT_EQ(out.schema().ToString(), "x: weighted_ids\ny: weighted_ids\n");
  EXPECT_THAT(std::vector<float>(out[0].weights(0).begin(), out[0].weights(0).end()),
              ElementsAre(1, 1, 0.5));
  EXPECT_EQ(out[1].weights(1)[0], 0.25F);
  EXPECT_THAT(Ints(rows, "take(a, count=1, from=end)"), ElementsAre(2));
}

TEST(FeatureFunctions, EachSaysWhatItDoes) {
  const FeatureFunctionSet functions = StandardFeatureFunctions();
  for (const auto& [name, function] : functions.all()) {
    EXPECT_THAT(function.usage, HasSubstr(name));
    EXPECT_FALSE(function.about.empty()) << name;
  }
}

}  // namespace
}  // namespace catamaran

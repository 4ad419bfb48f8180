#include "catamaran/data/features/feature_set.h"

#include <cmath>
#include <limits>
#include <thread>

#include "catamaran/base/hash.h"
#include "catamaran/data/features/features_test_util.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::FeaturesOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Ints;
using testing::MessageOf;
using testing::Refusal;
using testing::RowsOf;
using testing::Transformed;

constexpr std::string_view kPeople =
    "name,age,score,city\n"
    "Ann,31,0.5,Rome\n"
    "Bob,47,,\n"
    "Eve,19,-2,Oslo\n";

TEST(Features, OutputsHaveTheKindsOfTheirValues) {
  const RowBlock out = Transformed(RowsOf(kPeople),
                                   "who = name\n"
                                   "age = age\n"
                                   "score = number(score, missing=0)\n"
                                   "user = hash(name)\n"
                                   "cat = stack(hash(name), hash(city), hash(age))\n"
                                   "dense = stack(age, score)\n"
                                   "bag = ids(hash(name), hash(city, missing=none))\n");
  EXPECT_EQ(out.schema().ToString(),
            "who: string\nage: i64\nscore: f32\nuser: i64\ncat: i64[3]\ndense: f32[2]\nbag: ids\n");
  EXPECT_EQ(out[0].text(2), "Eve");
  EXPECT_EQ(out[5].floats[4], 19);
  EXPECT_EQ(out[6].ids(0).size(), 2u);
  EXPECT_EQ(out[6].ids(1).size(), 1u);  // without a city
}

TEST(Features, NumbersAreComputed) {
  const RowBlock rows = RowsOf(kPeople);
  EXPECT_THAT(Floats(rows, "age * 2 + 1"), ElementsAre(63, 95, 39));
  EXPECT_THAT(Floats(rows, "1 - -age / 2"), ElementsAre(16.5, 24.5, 10.5));
  EXPECT_THAT(Floats(rows, "number(score * 2, missing=7)"), ElementsAre(1, 7, -4));
  EXPECT_THAT(Floats(rows, "clip(age, min=20, max=40)"), ElementsAre(31, 40, 20));
  EXPECT_THAT(Floats(rows, "fill(log(score), -1)"), ElementsAre(std::log(0.5F), -1, -1));
  EXPECT_THAT(Floats(rows, "if(age > 30, score, age)")[2], 19);
  EXPECT_THAT(Floats(rows, "missing(score)"), ElementsAre(0, 1, 0));
  EXPECT_THAT(Floats(rows, "mod(-age, 10)"), ElementsAre(9, 3, 1));
  EXPECT_THAT(Floats(rows, "1 / (age - 47)")[0], -1.0F / 16);
  EXPECT_TRUE(std::isnan(Floats(rows, "1 / (age - 47)")[1]));
}

TEST(Features, ComparisonsAreOneOrZeroAlsoWhereAValueIsMissing) {
  const RowBlock rows = RowsOf(kPeople);
  EXPECT_THAT(Floats(rows, "age >= 31"), ElementsAre(1, 1, 0));
  EXPECT_THAT(Floats(rows, "score < 1"), ElementsAre(1, 0, 1));
  EXPECT_THAT(Floats(rows, "score >= 1"), ElementsAre(0, 0, 0));
  EXPECT_THAT(Floats(rows, "name == \"Bob\""), ElementsAre(0, 1, 0));
  EXPECT_THAT(Floats(rows, "name in [\"Bob\", \"Eve\"] and age < 40"), ElementsAre(0, 0, 1));
  EXPECT_THAT(Floats(rows, "not (age in [19, 31]) or name == \"Eve\""), ElementsAre(0, 1, 1));
}

TEST(Features, VectorsAreComputedElementByElement) {
  const RowBlock rows = RowsOf("a,b\n1,2\n3,4\n");
  EXPECT_THAT(Floats(rows, "stack(a, b) * a"), ElementsAre(1, 2, 9, 12));
  EXPECT_THAT(Floats(rows, "10 - stack(a, b)"), ElementsAre(9, 8, 7, 6));
  EXPECT_THAT(Floats(rows, "concat(stack(a, b), a > 1)"), ElementsAre(1, 2, 0, 3, 4, 1));
  EXPECT_THAT(Ints(rows, "nonzero(a > 1, b > 1, 0, a)"), ElementsAre(1, 3, 0, 1, 3));
  EXPECT_THAT(Floats(rows, "one_hot(integer(a), size=3)"), ElementsAre(0, 1, 0, 0, 0, 0));
  EXPECT_THAT(Refusal(rows, "stack(a, b) + stack(a, b, a)"),
              HasSubstr("shapes differ: [2] and [3]"));
}

TEST(Features, BucketsCountBoundariesAndHaveOneForMissing) {
  const RowBlock rows = RowsOf("x\n-5\n0\n9.5\n10\n1000\nNA\n");
  EXPECT_THAT(Ints(rows, "bucket(x, [0, 10, 20])"), ElementsAre(0, 1, 1, 2, 3, 4));
  EXPECT_THAT(Refusal(rows, "bucket(x, [0, 0])"), HasSubstr("the boundaries do not rise"));
  EXPECT_THAT(Refusal(rows, "bucket(x)"), HasSubstr("wanted boundaries"));
}

// Tables that were trained hold these ids: they may never change.
TEST(Features, HashedIdsAreFrozen) {
  const RowBlock rows = RowsOf("user,n\nann,5\n,0.1\n", "rows.csv",
                               {.schema = Schema::Parse("user: string\nn: f32\n")});
  EXPECT_THAT(Ints(rows, "hash(user)"), ElementsAre(-1090279889834708892, -7363620656177165404));
  EXPECT_THAT(Ints(rows, "hash(n)"), ElementsAre(-1777502898015508593, 1662069130083582021));
  EXPECT_THAT(Ints(rows, "hash(n, salt=\"user\")"),
              ElementsAre(6315374127560263582, 3548196328566653692));
  EXPECT_THAT(Ints(rows, "hash(user, buckets=1000)"), ElementsAre(724, 212));
  EXPECT_THAT(Ints(rows, "cross(user, n)"), ElementsAre(3947907420871611870, 8147108314847496995));
}

TEST(Features, AHashIsThatOfTheTextSaltedWithTheColumn) {
  const RowBlock rows = RowsOf(kPeople);
  const auto id = [](std::string_view salt, std::string_view text) {
    return static_cast<int64_t>(HashString(text, HashString(salt)));
  };
  EXPECT_THAT(Ints(rows, "hash(name)"),
              ElementsAre(id("name", "Ann"), id("name", "Bob"), id("name", "Eve")));
  EXPECT_THAT(Ints(rows, "hash(age, salt=\"name\")"),
              ElementsAre(id("name", "31"), id("name", "47"), id("name", "19")));
  EXPECT_THAT(Ints(rows, "hash(score, salt=s)"),
              ElementsAre(id("s", "0.5"), id("s", ""), id("s", "-2")));
  // The output's name plays no part, and neither does the way to the column.
  EXPECT_EQ(Ints(rows, "hash(name)")[0], Transformed(rows, "y = hash(name)")[0].ints[0]);
  EXPECT_EQ(Ints(rows, "hash(number(age))"), Ints(rows, "hash(age)"));
}

TEST(Features, ForAndRangesRepeatAnExpression) {
  const RowBlock rows = RowsOf("C1,C2,C3\na,b,a\n");
  EXPECT_EQ(Ints(rows, "stack(hash(c) for c in C1..C3)"),
            Ints(rows, "stack(hash(C1), hash(C2), hash(C3))"));
  EXPECT_EQ(Ints(rows, "stack(hash(c) for c in [C3, C1])"),
            Ints(rows, "stack(hash(C3), hash(C1))"));
  EXPECT_EQ(Ints(rows, "cross(C1..C2)"), Ints(rows, "cross(C1, C2)"));
  EXPECT_THAT(Refusal(rows, "hash(C1..C3)"), HasSubstr("hash: wanted 1 value, found 3"));
  EXPECT_THAT(Refusal(rows, "stack(hash(c) for c in C1..C4)"),
              HasSubstr("the data has no column 'C4'; did you mean 'C1'?"));
}

TEST(Features, LetNamesAValueThatIsNoOutput) {
  const RowBlock rows = RowsOf(kPeople);
  const RowBlock out = Transformed(rows, "let old = age > 30\nage = if(old, age, 0)\ny = old");
  EXPECT_EQ(out.schema().ToString(), "age: f32\ny: f32\n");
  EXPECT_THAT(std::vector<float>(out[0].floats.begin(), out[0].floats.end()),
              ElementsAre(31, 47, 0));
  EXPECT_THAT(MessageOf([&] { Transformed(rows, "y = old\nlet old = age > 30"); }),
              HasSubstr("t.features:1:5: 'old' is defined below"));
  EXPECT_THAT(MessageOf([&] { Transformed(rows, "old = age > 30\ny = old"); }),
              HasSubstr("give its value a name of its own by `let`"));
}

TEST(Features, CrossesOfListsAreAllCombinations) {
  const RowBlock rows = RowsOf(
      "{\"a\": [1, 2], \"b\": [3, 4], \"c\": \"x\"}\n"
      "{\"a\": [], \"b\": [3], \"c\": \"x\"}\n",
      "rows.jsonl", {.schema = Schema::Parse("a: ids\nb: ids\nc: string\n")});
  const RowBlock out = Transformed(rows, "x = cross(a, b)\ny = cross(b, c)");
  EXPECT_EQ(out[0].ids(0).size(), 4u);
  EXPECT_EQ(out[0].ids(1).size(), 0u);
  EXPECT_EQ(out[1].ids(0).size(), 2u);
  EXPECT_EQ(out[1].ids(0)[0], out[1].ids(1)[0]);
}

TEST(Features, OnlyWhatTheChosenOutputsNeedMustBeThere) {
  const Features features = testing::FeaturesOf("label = rating >= 4\nuser = hash(user)");
  const Schema served = Schema::Parse("user: i64\n");
  const auto transform = features.Bind(served, {"user"});
  EXPECT_THAT(transform->inputs(), ElementsAre("user"));
  EXPECT_THAT(MessageOf([&] { features.Bind(served); }),
              HasSubstr("t.features:1:9: the data has no column 'rating'"));
  EXPECT_THAT(MessageOf([&] { features.Bind(served, {"usr"}); }),
              HasSubstr("there is no output 'usr'; did you mean 'user'?"));
}

TEST(Features, MistakesNameThePlaceAndSimilarNames) {
  const RowBlock rows = RowsOf(kPeople);
  EXPECT_THAT(Refusal(rows, "hash(nmae)"),
              HasSubstr("t.features:1:10: the data has no column 'nmae'; did you mean 'name'?\n"
                        "    1 | x = hash(nmae)\n      |          ^"));
  EXPECT_THAT(Refusal(rows, "hsh(name)"),
              HasSubstr("t.features:1:5: there is no function 'hsh'; did you mean 'hash'?"));
  EXPECT_THAT(Refusal(rows, "hash(name, bucket=3)"),
              HasSubstr("hash has no setting 'bucket'; did you mean 'buckets'?"));
  EXPECT_THAT(Refusal(rows, "hash(name, buckets=0)"), HasSubstr("wanted a whole number from 1"));
  EXPECT_THAT(Refusal(rows, "name + 1"), HasSubstr("value 1 is text, wanted a number; number(…)"));
  EXPECT_THAT(Refusal(rows, "stack(name)"), HasSubstr("hash(…) makes an id of text"));
}

TEST(Features, ARowThatCannotBeTransformedIsNamed) {
  EXPECT_THAT(Refusal(RowsOf(kPeople), "number(name)"),
              HasSubstr("t.features:1: 'x': row 0: found 'Ann', wanted a number"));
  EXPECT_THAT(Refusal(RowsOf(kPeople), "integer(score)"),
              HasSubstr("t.features:1: 'x': row 1: the value is missing"));
}

TEST(Features, TheHashIsOfWhatDecidesTheResultsAlone) {
  const Schema schema = Schema::Parse("a: f32\nb: f32\n");
  const auto hash = [&](std::string_view text) {
    return testing::FeaturesOf(text).Bind(schema)->hash();
  };
  EXPECT_EQ(hash("x = a + b\n"), hash("// sums\nx =  (a+b)  // both\n"));
  EXPECT_EQ(hash("x = a + b\n"), hash("let s = a + b\nx = s"));
  EXPECT_EQ(hash("x = hash(a, salt=s, buckets=3)"), hash("x = hash(a, buckets=3, salt=s)"));
  EXPECT_NE(hash("x = a + b\n"), hash("x = b + a\n"));
  EXPECT_NE(hash("x = a\n"), hash("y = a\n"));
  EXPECT_NE(hash("x = hash(a)"), hash("x = hash(a, salt=b)"));
}

TEST(Features, ManyThreadsMayApplyOneTransform) {
  const RowBlock rows = RowsOf(kPeople);
  const auto transform = testing::FeaturesOf("x = hash(name)\ny = age + 1").Bind(rows.schema());
  RowBlock wanted;
  transform->Apply(rows, wanted);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& count : wrong) {
    threads.emplace_back([&rows, &wanted, &transform, &count] {
      RowBlock out;
      for (int i = 0; i < 200; ++i) {
        transform->Apply(rows, out);
        count += out == wanted ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST(Features, ADefaultStandsForAColumnThatTheDataLacks) {
  const std::string text =
      "input age: f32 = 30, city: string = \"Bonn\", tags: ids = missing, n: i64 = -1\n"
      "age = age\ncity = hash(city)\ntags = tags\nn = n";
  const RowBlock all = Transformed(RowsOf("age,city,tags,n\n30,Bonn,,-1\n"), text);
  const RowBlock none = Transformed(RowsOf("other\n1\n"), text);
  EXPECT_EQ(none[0].floats[0], 30);
  EXPECT_EQ(none[1].ints[0], all[1].ints[0]);
  EXPECT_TRUE(none[2].ids(0).empty());
  EXPECT_EQ(none[3].ints[0], -1);
  EXPECT_EQ(FeaturesOf(text).Bind(RowsOf("other\n1\n").schema())->hash(),
            FeaturesOf(text).Bind(*FeaturesOf(text).declared_inputs())->hash());
}

TEST(Features, ADefaultFitsItsColumn) {
  const auto refusal = [](const std::string& input) {
    return MessageOf([&] { FeaturesOf("input " + input + "\nx = x"); });
  };
  EXPECT_THAT(refusal("x: i64 = missing"), HasSubstr("a default is a whole number of its kind"));
  EXPECT_THAT(refusal("x: u8 = 256"), HasSubstr("256 is no default of the column 'x' (u8)"));
  EXPECT_THAT(refusal("x: f32 = \"a\""), HasSubstr("a default is a number, or missing"));
  EXPECT_THAT(refusal("x: string = 1"), HasSubstr("a text in quotes, or missing"));
}

}  // namespace
}  // namespace catamaran

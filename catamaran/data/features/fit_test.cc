#include "catamaran/data/features/fit.h"

#include <cmath>
#include <cstdlib>

#include "catamaran/data/features/feature_library.h"
#include "catamaran/data/features/features_test_util.h"
#include "catamaran/data/features/fitted_file.h"
#include "catamaran/data/features/json_rows.h"
#include "catamaran/data/records/record_writer.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::FeaturesOf;
using ::testing::HasSubstr;
using testing::MessageOf;

constexpr std::string_view kRows =
    "age,city,when\n"
    "20,Rome,2022-01-01\n"
    "30,Oslo,2022-01-02\n"
    "40,Rome,2022-01-03\n"
    ",,2022-01-04\n"
    "50,\"Rio, Brazil\",2022-01-05\n";

class FitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteFileAtomically(fs_, "rows.csv", kRows);
    WriteFileAtomically(fs_, "cities.csv", "city,country,people\nRome,IT,2.8\nOslo,NO,0.7\n");
  }
  Features Fit(std::string_view text) const {
    return FitFeatures(MakeFeatures(fs_, text, "t.features"),
                       [&] { return OpenReader(fs_, "rows.csv"); });
  }
  RowBlock Apply(const Features& features) const {
    const auto reader = OpenReader(fs_, "rows.csv");
    const RowBlock rows = testing::ReadRest(*reader);
    RowBlock out;
    features.Bind(rows.schema())->Apply(rows, out);
    out.Check("applied");
    return out;
  }
  std::vector<float> Floats(std::string_view text) const {
    const RowBlock out = Apply(Fit(text));
    return {out[0].floats.begin(), out[0].floats.end()};
  }
  std::vector<int64_t> Ints(std::string_view text) const {
    const RowBlock out = Apply(Fit(text));
    return {out[0].ints.begin(), out[0].ints.end()};
  }

  FaultyFileSystem fs_;
};

TEST_F(FitTest, NumbersAreNormalizedAndScaledWithoutTheMissing) {
  const float sd = std::sqrt(125.0F);
  EXPECT_THAT(Floats("x = normalize(age)"), ElementsAre(-15 / sd, -5 / sd, 5 / sd, 0, 15 / sd));
  EXPECT_THAT(Floats("x = scale(age, missing=-1)"),
              ElementsAre(0, ::testing::FloatEq(1.0F / 3), ::testing::FloatEq(2.0F / 3), -1, 1));
  EXPECT_THAT(Floats("x = normalize(stack(age, -age))")[1], 15 / sd);
}

TEST_F(FitTest, QuantilesHaveAboutAsManyEach) {
  EXPECT_THAT(Ints("x = quantiles(age, count=2)"), ElementsAre(0, 0, 1, 2, 1));
  EXPECT_THAT(Ints("x = quantiles(age, count=4)"), ElementsAre(0, 1, 2, 4, 3));
}

TEST_F(FitTest, VocabulariesCountFromOneByFrequency) {
  EXPECT_THAT(Ints("x = vocabulary(city)"), ElementsAre(1, 2, 1, 0, 3));
  EXPECT_THAT(Ints("x = vocabulary(city, min_count=2)"), ElementsAre(1, 0, 1, 0, 0));
  EXPECT_THAT(Ints("x = vocabulary(city, max_size=2)"), ElementsAre(1, 2, 1, 0, 0));
  EXPECT_THAT(Ints("x = vocabulary(tokens(city))"), ElementsAre(1, 3, 1, 4, 2));
}

TEST_F(FitTest, FitsOfWhatIsFittedTakeASecondReading) {
  EXPECT_THAT(Floats("x = scale(normalize(age))"),
              ElementsAre(0, ::testing::FloatEq(1.0F / 3), ::testing::FloatEq(2.0F / 3),
                          ::testing::FloatEq(0.5), 1));
}

TEST_F(FitTest, WhatIsNotFittedSaysTheCommand) {
  const Features features = MakeFeatures(fs_, "x = normalize(age)", "t.features");
  EXPECT_TRUE(features.needs_fit());
  EXPECT_THAT(MessageOf([&] { features.Bind(Schema::Parse("age: f32")); }),
              HasSubstr("t.features:1:5: normalize learns from data, and is not fitted yet: run "
                        "`catamaran features fit t.features --data …`"));
}

constexpr std::string_view kFull =
    "// All kinds of fits\n"
    "file cities(\"cities.csv\", key=city)\n"
    "age = normalize(age)\n"
    "city = vocabulary(city)\n"
    "part = quantiles(age, count=3)\n"
    "country = hash(cities[city].country)\n"
    "people = cities[city].people\n";

TEST_F(FitTest, AFittedFileHoldsEverything) {
  const Features fitted = Fit(kFull);
  const std::string text = FittedText(fitted);
  EXPECT_TRUE(IsFittedText(text));
  FaultyFileSystem elsewhere;  // without the data and the side file
  const Features again = ParseFitted(elsewhere, text, "t.fit", {});
  EXPECT_EQ(FittedText(again), text);
  EXPECT_TRUE(Apply(again) == Apply(fitted));
  const Schema columns = *fitted.declared_inputs();
  EXPECT_EQ(again.Bind(columns)->hash(), fitted.Bind(columns)->hash());
  EXPECT_EQ(FittedText(Fit(kFull)), text);
}

// Files of fitted features are kept beside models: this one must be read for ever.
TEST_F(FitTest, TheFittedFormatIsFrozen) {
  EXPECT_EQ(FittedText(Fit("x = normalize(age) // years\ny = vocabulary(city)\n")),
            R"fit({"catamaran_features": 1, "checksum": "a47acecc9893cd7b",
  "source": [
    "x = normalize(age) // years",
    "y = vocabulary(city)"],
  "columns": [
    "age: f32",
    "city: string",
    "when: string"],
  "fitted": [
    {"call": "normalize(age)",
     "numbers": [35, 11.180339887498949]},
    {"call": "vocabulary(city)",
     "numbers": [2, 1, 1],
     "texts": ["Rome", "Oslo", "Rio, Brazil"]}],
  "files": []}
)fit");
}

TEST_F(FitTest, DamagedFilesAreRefused) {
  const std::string text = FittedText(Fit(kFull));
  const auto refusal = [&](const std::string& damaged) {
    return MessageOf([&] { ParseFitted(fs_, damaged, "t.fit", {}); });
  };
  std::string other = text;
  other.replace(other.find("Rome"), 4, "Roma");
  EXPECT_THAT(refusal(other), HasSubstr("t.fit: the checksum is wrong"));
  other = text;
  other.replace(other.find(": 1"), 3, ": 2");
  EXPECT_THAT(refusal(other), HasSubstr("t.fit: fitted features of version 2"));
  for (size_t size = 30; size + 2 < text.size(); size += 7) {
    EXPECT_THAT(refusal(text.substr(0, size)), HasSubstr("t.fit: this file of fitted features is"));
  }
}

TEST_F(FitTest, AFileThatWasChangedIsFittedAgain) {
  WriteFileAtomically(fs_, "t.features", "x = normalize(age)\n");
  WriteFileAtomically(fs_, "t.features.fit", FittedText(Fit("x = normalize(age)\n")));
  EXPECT_EQ(LoadFeatures(fs_, "t.features").fitted().size(), 1u);
  EXPECT_EQ(LoadFeatures(fs_, "t.features", {.unfitted = true}).fitted().size(), 0u);
  WriteFileAtomically(fs_, "t.features", "y = normalize(age)\n");
  EXPECT_THAT(MessageOf([&] { LoadFeatures(fs_, "t.features"); }),
              HasSubstr("t.features.fit: it was made of another text than t.features now has"));
}

TEST_F(FitTest, RowsOfSideFilesAreFoundByKeys) {
  const RowBlock out =
      Apply(Fit("file cities(\"cities.csv\", key=city)\nx = cities[city].people\ny = "
                "cities[city].country\n"));
  EXPECT_EQ(out[0].floats[0], 2.8F);
  EXPECT_TRUE(std::isnan(out[0].floats[3]));
  EXPECT_EQ(out[1].text(1), "NO");
  EXPECT_EQ(out[1].text(4), "");
  const auto refusal = [&](std::string_view text) { return MessageOf([&] { Fit(text); }); };
  EXPECT_THAT(refusal("file cities(\"cities.csv\", key=city)\nx = cities[city].poeple"),
              HasSubstr("the file cities has no column 'poeple'; did you mean 'people'?"));
  WriteFileAtomically(fs_, "twice.csv", "city,n\nRome,1\nOslo,2\nRome,3\n");
  EXPECT_THAT(refusal("file t(\"twice.csv\", key=city)\nx = t[city].n"),
              HasSubstr("twice.csv: two rows have the key Rome: rows 1 and 3"));
  EXPECT_EQ(Floats("file t(\"twice.csv\", key=city, repeated=first)\nx = t[city].n")[2], 1);
  EXPECT_THAT(refusal("file c(\"nowhere.csv\", key=city)\nx = c[city].people"),
              HasSubstr("there is no file 'nowhere.csv'"));
}

// The promise: a raw row gives at serving what training saw, whatever it came in.
TEST_F(FitTest, CsvJsonAndRecordsOfTheSameRowsGiveEqualFeatures) {
  const Features features = Fit(std::string(kFull) +
                                "c = cross(age, city)\nh = hash(age)\n"
                                "d = weekday(when)\n");
  const RowBlock wanted = Apply(features);
  const auto reader = OpenReader(fs_, "rows.csv");
  RecordWriter writer(fs_, "rows.rec", reader->schema());
  RowBlock block;
  while (reader->Read(2, block)) writer.Add(block);
  writer.Finish();
  const RowBlock records = testing::ReadRest(*OpenReader(fs_, "rows.rec"));
  RowBlock out;
  features.Bind(records.schema())->Apply(records, out);
  EXPECT_TRUE(out == wanted);

  JsonRows json(features);
  json.Transform(R"([{"age": 20, "city": "Rome", "when": "2022-01-01"},
                     {"age": 30.0, "city": "Oslo", "when": "2022-01-02"},
                     {"when": "2022-01-03", "city": "Rome", "age": 4e1},
                     {"age": null, "city": null, "when": "2022-01-04"},
                     {"age": 50, "city": "Rio, Brazil", "when": "2022-01-05"}])",
                 out);
  EXPECT_TRUE(out == wanted);
  json.Transform(R"({"age": 20, "city": "Rome", "when": "2022-01-01"})", out);
  EXPECT_EQ(out.rows(), 1);
  EXPECT_EQ(out[1].ints[0], wanted[1].ints[0]);
}

TEST_F(FitTest, JsonRowsAreReadByTheColumnsThatAreNeeded) {
  JsonRows rows(FeaturesOf("input label: f32, age: f32, tags: ids\nlabel = label\nx = hash(age)"),
                {"x"});
  EXPECT_EQ(rows.columns().ToString(), "age: f32\n");
  RowBlock out;
  EXPECT_THAT(MessageOf([&] { rows.Transform("[{\"age\": 1}, {\"age\": \"old\"}]", out); }),
              HasSubstr("row 1: column 'age': found a string 'old', wanted a number"));
  EXPECT_THAT(MessageOf([&] { rows.Transform("[{\"age\": 1}, 7]", out); }),
              HasSubstr("row 1: found a number '7', wanted an object"));
  EXPECT_THAT(MessageOf([&] { rows.Transform("[{\"age\": 1}", out); }), HasSubstr("no JSON"));
  EXPECT_THAT(MessageOf([&] { JsonRows without(FeaturesOf("x = age")); }),
              HasSubstr("add a line `input name: kind, …`"));
}

std::string Plugin() {
  const char* const folder = std::getenv("CATAMARAN_BIN_DIR");
  return std::string(folder != nullptr ? folder : "build/release/bin") +
         "/sample_features_plugin.so";
}

TEST_F(FitTest, UsersBringFunctionsInASharedLibrary) {
  const std::string line = "plugin \"" + Plugin() + "\"\n";
  EXPECT_THAT(Floats(line + "x = share(age)"),
              ElementsAre(0.4F, 0.6F, 0.8F, ::testing::IsNan(), 1));
  const Features fitted = Fit(line + "x = share(age)");
  const Features again = ParseFitted(fs_, FittedText(fitted), "t.fit", {});
  EXPECT_EQ(Apply(again)[0].floats[0], 0.4F);
  const Features option =
      MakeFeatures(fs_, "x = cell(age, age, degrees=2)", "t.features", {.libraries = {Plugin()}});
  EXPECT_EQ(Apply(option)[0].ints[0], 55 * 180 + 100);
}

TEST_F(FitTest, LibrariesThatAreNoneAreRefused) {
  EXPECT_THAT(MessageOf([&] { FeaturesOf("plugin \"nowhere.so\"\nx = 1"); }),
              HasSubstr("t.features:1:1: "));
  FeatureFunctionSet functions;
  EXPECT_THAT(MessageOf([&] { LoadFeatureLibrary(functions, "nowhere.so"); }),
              HasSubstr("nowhere.so: the library cannot be loaded"));
  LoadFeatureLibrary(functions, Plugin());
  EXPECT_THAT(MessageOf([&] { LoadFeatureLibrary(functions, Plugin()); }),
              HasSubstr("there is a feature function 'cell' already"));
}

// What the functions know: borders, places, fitted ranges, words, keys. What is missing is not
// outside of anything.
TEST(FittedFeatures, RowsOutsideOfWhatTheFunctionsKnowAreCounted) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "cities.csv", "city,size\nOslo,7\nRome,28\n");
  WriteFileAtomically(fs, "t.features",
                      "file cities(\"cities.csv\", key=city)\n"
                      "input age: f32, city: string, place: i64\n"
                      "a = bucket(age, [18, 30, 60])\n"
                      "b = scale(age)\n"
                      "c = vocabulary(city)\n"
                      "d = cities[city].size\n"
                      "e = one_hot(place, size=3)\n"
                      "f = normalize(log(age))\n"
                      "g = hash(city)\n");
  const Features unfitted = LoadFeatures(fs, "t.features", {.unfitted = true});
  const ReaderOptions reader = unfitted.ReaderSettings({});
  WriteFileAtomically(fs, "seen.csv", "age,city,place\n20,Oslo,0\n50,Rome,1\n");
  const Features features =
      FitFeatures(unfitted, [&] { return OpenReader(fs, "seen.csv", reader); });
  const auto transform = features.Bind(*features.declared_inputs());
  EXPECT_THAT(transform->ranged(),
              ::testing::UnorderedElementsAre("age", "city", "place", "log(age)"));
  const auto outside = [&](const std::string& rows) {
    std::vector<int64_t> counts(4);
    RowBlock out;
    transform->ApplyAndCount(testing::RowsOf("age,city,place\n" + rows, "rows.csv", reader), out,
                             counts);
    std::map<std::string, int64_t> by_name;
    for (size_t i = 0; i < counts.size(); ++i) by_name[transform->ranged()[i]] = counts[i];
    return by_name;
  };
  using Counts = std::map<std::string, int64_t>;
  EXPECT_EQ(outside("30,Oslo,2\n"),
            (Counts{{"age", 0}, {"city", 0}, {"place", 0}, {"log(age)", 0}}));
  EXPECT_EQ(outside(",,1\n"), (Counts{{"age", 0}, {"city", 0}, {"place", 0}, {"log(age)", 0}}));
  EXPECT_EQ(outside("70,Paris,3\n19,Oslo,-1\n1e9,Rome,0\n"),
            (Counts{{"age", 3}, {"city", 1}, {"place", 2}, {"log(age)", 1}}));
}

}  // namespace
}  // namespace catamaran

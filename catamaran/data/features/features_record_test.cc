#include "catamaran/data/features/features_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/data/features/features_test_util.h"

namespace catamaran {
namespace {

using testing::FeaturesOf;
using ::testing::HasSubstr;
using testing::MessageOf;

const std::vector<std::string> kOutputs = {"ip", "age"};

std::string Difference(std::string_view before, std::string_view now) {
  return DifferenceOfFeatures(FeaturesRecord(FeaturesOf(before), kOutputs), FeaturesOf(now),
                              kOutputs, "run/latest");
}

constexpr std::string_view kBefore =
    "input ip: string, app: string, age: f32\n"
    "let old = age > 60\n"
    "ip = hash(ip, size=1000, salt=\"s\")\n"
    "age = stack(age, old)\n";

TEST(FeaturesRecord, CommentsSpacesAndOrderAreNoDifference) {
  EXPECT_EQ(Difference(kBefore, kBefore), "");
  EXPECT_EQ(Difference(kBefore,
                       "// what it computes\n"
                       "input app: string, age: f32\ninput ip: string\n"
                       "let  old = (age > 60)\n"
                       "age = stack( age,old )  // as before\n"
                       "ip = hash(ip, salt=\"s\", size=1000)\n"
                       "more = hash(app)\n"),
            "");
}

TEST(FeaturesRecord, AHashOfAnotherColumnIsADifferenceThatNamesItsLine) {
  EXPECT_EQ(Difference(kBefore,
                       "input ip: string, app: string, age: f32\n"
                       "let old = age > 60\n"
                       "ip = hash(app, salt=\"z\")\n"
                       "age = stack(age, old)\n"),
            "t.features:3: output ip is hash(app, salt=\"z\") and was hash(ip, salt=\"s\", "
            "size=1000)");
}

TEST(FeaturesRecord, WhatAnOutputIsMadeOfCountsToo) {
  EXPECT_THAT(Difference(kBefore,
                         "input ip: string, age: f32\nlet old = age > 70\n"
                         "ip = hash(ip, size=1000, salt=\"s\")\nage = stack(age, old)\n"),
              HasSubstr("t.features:2: let old is (age > 70) and was (age > 60)"));
  EXPECT_THAT(Difference(kBefore,
                         "input ip: i64, age: f32\nlet old = age > 60\n"
                         "ip = hash(ip, size=1000, salt=\"s\")\nage = stack(age, old)\n"),
              HasSubstr("input ip is i64 and was string"));
}

TEST(FeaturesRecord, FitsAndFilesAreComparedByWhatTheyHold) {
  const Features features = FeaturesOf("input age: f32\nage = normalize(age)\n");
  const auto fitted = [&](double mean) {
    return features.WithFitted({{"normalize(age)", {{mean, 2.0}, {}}}},
                               *features.declared_inputs());
  };
  const std::string record = FeaturesRecord(fitted(1), kOutputs);
  EXPECT_EQ(FeaturesRecord(fitted(1), {"other"}), "catamaran features 1\n");
  EXPECT_EQ(DifferenceOfFeatures(record, fitted(1), kOutputs, "r"), "");
  EXPECT_THAT(DifferenceOfFeatures(record, fitted(3), kOutputs, "r"),
              HasSubstr("fit of \"normalize(age)\" is not the one that it was"));
}

TEST(FeaturesRecord, ALaterVersionOfTheRecordIsRefused) {
  EXPECT_THAT(MessageOf([] {
                DifferenceOfFeatures("catamaran features 2\n", FeaturesOf(kBefore), kOutputs, "r");
              }),
              HasSubstr("r: its record of features begins with 'catamaran features 2'"));
}

// What is kept with states must stay readable.
TEST(FeaturesRecord, TheRecordIsFrozen) {
  EXPECT_EQ(FeaturesRecord(FeaturesOf(kBefore), kOutputs),
            "catamaran features 1\n"
            "input age\tf32\n"
            "input ip\tstring\n"
            "let old\t(age > 60)\n"
            "output age\tstack(age, old)\n"
            "output ip\thash(ip, salt=\"s\", size=1000)\n");
}

}  // namespace
}  // namespace catamaran

#include "catamaran/data/text/text_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace catamaran {
namespace {

TEST(Shown, IsShortAndHasNoControlCharacters) {
  EXPECT_EQ(Shown("a\tb"), "'a\\x09b'");
  EXPECT_EQ(Shown(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(Shown(std::string(41, 'x')), "'" + std::string(40, 'x') + "'…");
  // No character is cut in two.
  EXPECT_EQ(Shown(std::string(39, 'x') + "éé"), "'" + std::string(39, 'x') + "'…");
}

TEST(HasEnding, LooksBeforeGz) {
  EXPECT_TRUE(HasEnding("a/b.CSV", {".csv"}));
  EXPECT_TRUE(HasEnding("a/b.csv.gz", {".tsv", ".csv"}));
  EXPECT_FALSE(HasEnding("a/b.csv.bz2", {".csv"}));
}

}  // namespace
}  // namespace catamaran

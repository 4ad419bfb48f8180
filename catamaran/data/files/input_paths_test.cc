#include "catamaran/data/files/input_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using testing::MessageOf;

TEST(ExpandPaths, WildcardsStandForWhatTheyMatchSorted) {
  FaultyFileSystem fs;
  for (const std::string folder : {"d", "d/2024", "d/2025"}) fs.MakeDirectory(folder);
  for (const std::string file : {"d/2024/b.csv", "d/2024/a.csv", "d/2025/a.csv", "d/2025/.a.csv",
                                 "d/2025/a.txt", "d/we[i]rd", "top.csv"}) {
    WriteFileAtomically(fs, file, "");
  }
  EXPECT_THAT(ExpandPaths(fs, {"d/*/a.csv"}), ElementsAre("d/2024/a.csv", "d/2025/a.csv"));
  EXPECT_THAT(ExpandPaths(fs, {"d/202[45]/*.csv"}),
              ElementsAre("d/2024/a.csv", "d/2024/b.csv", "d/2025/a.csv"));
  EXPECT_THAT(ExpandPaths(fs, {"d/2025/?.txt", "*.csv"}), ElementsAre("d/2025/a.txt", "top.csv"));
  EXPECT_THAT(ExpandPaths(fs, {"/d/2024/b*"}), ElementsAre("/d/2024/b.csv"));
  // A file of that very name, and a name without wildcards, stay as they are.
  EXPECT_THAT(ExpandPaths(fs, {"d/we[i]rd", "missing"}), ElementsAre("d/we[i]rd", "missing"));
  EXPECT_EQ(MessageOf([&] { ExpandPaths(fs, {"d/*/c.csv"}); }), "d/*/c.csv: no file matches");
}

}  // namespace
}  // namespace catamaran

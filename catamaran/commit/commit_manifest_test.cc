// commit/commit_manifest_test.cc

#include "catamaran/commit/commit_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using test::MessageOf;

CommitManifest Sample() {
  CommitManifest manifest;
  manifest.commit = 7;
  manifest.step = 1200;
  manifest.event_time = 1'700'000'000'000'000'000;
  manifest.info = {{"build", "0.1.0"}, {"isa", "avx512"}};
  manifest.positions = {{"clicks/0", "88123"}, {"odd \"name\"\n\x01\\", ""}};
  manifest.readers = {{"replica 1", 5}};
  manifest.parts = {
      {"dense", {{"dense-7.safetensors", 15360, 0x1a2b3c4d, 0, 7}}, {}, {}},
      {"table feat",
       {{"table-feat-0-5.rows", 91200, 0x99887766, 0, 5}, {"table-feat-5-7.rows", 9, 1, 5, 7}},
       {{"table-feat-4-5.rows", 100, 2, 4, 5}},
       {"cold-feat-7"}}};
  return manifest;
}

TEST(CommitManifest, ComesBackFromItsText) {
  const CommitManifest manifest = Sample();
  EXPECT_EQ(ParseCommitManifest(FormatCommitManifest(manifest), "x"), manifest);
  EXPECT_EQ(ParseCommitManifest(FormatCommitManifest({}), "x"), CommitManifest());
}

TEST(CommitManifest, LooksAsDocumented) {
  CommitManifest manifest = Sample();
  manifest.positions.erase(std::next(manifest.positions.begin()));
  EXPECT_EQ(FormatCommitManifest(manifest),
            "catamaran state 2\n"
            "commit 7\n"
            "step 1200\n"
            "time 1700000000000000000\n"
            "info \"build\" \"0.1.0\"\n"
            "info \"isa\" \"avx512\"\n"
            "position \"clicks/0\" \"88123\"\n"
            "reader \"replica 1\" 5\n"
            "part \"dense\"\n"
            "file dense-7.safetensors 15360 1a2b3c4d 0 7\n"
            "part \"table feat\"\n"
            "file table-feat-0-5.rows 91200 99887766 0 5\n"
            "file table-feat-5-7.rows 9 00000001 5 7\n"
            "kept table-feat-4-5.rows 100 00000002 4 5\n"
            "directory cold-feat-7\n"
            "check 4e4ae67c\n");
}

TEST(CommitManifest, EveryFlippedBitAndEveryCutIsRefused) {
  const std::string text = FormatCommitManifest(Sample());
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(MessageOf([&] { ParseCommitManifest(damaged, "d/commit-7"); }),
                testing::StartsWith("d/commit-7: "))
        << bit;
  }
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(MessageOf([&] { ParseCommitManifest(text.substr(0, size), "x"); }), "no error");
  }
}

TEST(CommitManifest, ANewerFormatSaysSo) {
  EXPECT_EQ(MessageOf([] { ParseCommitManifest("catamaran state 3\nwhatever\n", "x/commit-1"); }),
            "x/commit-1: the state has format version 3; this build reads versions up to 2");
}

TEST(CommitManifest, NamesNoFileOutsideItsDirectory) {
  for (const std::string name : {"../secret", "a/b", ".hidden"}) {
    CommitManifest manifest = Sample();
    manifest.parts[0].files[0].name = name;
    EXPECT_NE(MessageOf([&] { ParseCommitManifest(FormatCommitManifest(manifest), "x"); }),
              "no error");
  }
}

TEST(CommitDirectory, KnowsItsOwnNames) {
  EXPECT_EQ(CommitOfName(CommitManifestName(7)), 7u);
  EXPECT_EQ(CommitOfName(CommitManifestName(7) + ".tmp"), 7u);
  EXPECT_EQ(CommitOfName(DenseFileName(12)), 12u);
  EXPECT_EQ(CommitOfName(RowFileName("a.b_c", 3, 9)), 9u);
  EXPECT_EQ(CommitOfName(ColdDirectoryName("a.b_c", 4)), 4u);
  EXPECT_EQ(CommitOfName("tables-3.safetensors"), 3u);
  EXPECT_EQ(CommitOfName("CURRENT"), 0u);
  for (const char* name : {"LOCK", "notes.txt", "dense-.safetensors", "dense-1.npy", "commit-",
                           "commit-1x", "table-a.rows"}) {
    EXPECT_FALSE(CommitOfName(name)) << name;
  }
}

TEST(CommitDirectory, TablesWithOddPathsGetNamesOfTheirOwn) {
  EXPECT_EQ(RowFileName("net.feat", 0, 5), "table-net.feat-0-5.rows");
  const std::string odd = RowFileName("größe", 0, 5),
                    longer = RowFileName(std::string(300, 'a'), 0, 5);
  EXPECT_NE(odd, longer);
  EXPECT_LT(longer.size(), 100u);
  EXPECT_EQ(CommitOfName(odd), 5u);
}

}  // namespace
}  // namespace catamaran

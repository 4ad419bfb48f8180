#include "catamaran/base/faulty_file.h"

#include <gtest/gtest.h>

#include <set>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

const std::string kOld = "the old contents, all of them";
const std::string kNew = "and the new contents, which are somewhat longer than the old";

// A disk that holds kOld, durably, in d/f.
void PrepareOld(FaultyFileSystem& fs) {
  fs.MakeDirectories("d");
  WriteFileAtomically(fs, "d/f", kOld);
}

TEST(FaultyFile, AtomicWriteLeavesOldOrNewContentsWholeAfterACrashAtAnyOperation) {
  FaultyFileSystem probe;
  PrepareOld(probe);
  const uint64_t before = probe.operations();
  WriteFileAtomically(probe, "d/f", kNew);
  const uint64_t operations = probe.operations() - before;
  ASSERT_GE(operations, 6u);  // open, append, sync, close, rename, sync directory

  std::set<std::string> seen;
  for (uint64_t k = 0; k <= operations; ++k) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      FaultyFileSystem fs;
      PrepareOld(fs);
      fs.CrashAt(k, seed);
      bool finished = true;
      try {
        WriteFileAtomically(fs, "d/f", kNew);
        fs.Crash(seed);
      } catch (const Error&) {
        finished = false;
      }
      fs.Restart();
      const std::string found = fs.ReadAll("d/f");
      EXPECT_TRUE(found == kOld || found == kNew) << "crash at " << k << ", seed " << seed;
      EXPECT_EQ(finished, k == operations);
      if (finished) {
        EXPECT_EQ(found, kNew) << "seed " << seed;
      }
      seen.insert(found);
      // What a crash left behind is not in the way of the next attempt.
      WriteFileAtomically(fs, "d/f", kNew);
      EXPECT_EQ(fs.ReadAll("d/f"), kNew);
      EXPECT_EQ(fs.List("d"), std::vector<std::string>{"f"});
    }
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST(FaultyFile, AtomicWriteThatFailsKeepsTheOldFileAndRemovesItsOwn) {
  for (uint64_t k = 0; k < 5; ++k) {
    FaultyFileSystem fs;
    PrepareOld(fs);
    fs.FailAt(k);
    EXPECT_THROW(WriteFileAtomically(fs, "d/f", kNew), Error);
    EXPECT_EQ(fs.ReadAll("d/f"), kOld);
    EXPECT_EQ(fs.List("d"), std::vector<std::string>{"f"}) << "failure at " << k;
  }
}

TEST(FaultyFile, AtomicWriteSurvivesAFullDisk) {
  FaultyFileSystem fs;
  PrepareOld(fs);
  fs.SetDiskSpace(kNew.size() - 1);
  EXPECT_THROW(WriteFileAtomically(fs, "d/f", kNew), Error);
  EXPECT_EQ(fs.ReadAll("d/f"), kOld);
  EXPECT_EQ(fs.List("d"), std::vector<std::string>{"f"});
}

// The suite above would pass if the disk forgot nothing, so this shows that a careless writer is
// caught: the same steps without the sync of the file, or of the directory.
TEST(FaultyFile, AWriterThatDoesNotSyncIsCaught) {
  const auto after_crash = [](bool sync_file, bool sync_directory, uint64_t seed) {
    FaultyFileSystem fs;
    PrepareOld(fs);
    const auto file = fs.OpenWrite("d/f.tmp");
    file->Append(kNew);
    if (sync_file) file->Sync();
    fs.Rename("d/f.tmp", "d/f");
    if (sync_directory) fs.SyncDirectory("d");
    fs.Crash(seed);
    fs.Restart();
    return fs.ReadAll("d/f");
  };
  EXPECT_EQ(after_crash(true, true, 0), kNew);
  EXPECT_EQ(after_crash(true, false, 0), kOld);
  EXPECT_EQ(after_crash(false, true, 0), "");
  std::set<std::string> torn;
  for (uint64_t seed = 1; seed < 100; ++seed) torn.insert(after_crash(false, true, seed));
  EXPECT_GT(torn.size(), 20u);
  for (const std::string& contents : torn) EXPECT_TRUE(kNew.starts_with(contents));
}

TEST(FaultyFile, ACrashDropsUnsyncedBytesAndNamesOnly) {
  FaultyFileSystem fs;
  const auto file = fs.OpenWrite("kept");
  file->Append("synced");
  file->Sync();
  fs.SyncDirectory("/");
  file->Append(" and not");
  fs.OpenWrite("lost")->Append("x");
  fs.Crash();
  EXPECT_THROW(fs.Exists("kept"), Error);
  fs.Restart();
  EXPECT_EQ(fs.ReadAll("kept"), "synced");
  EXPECT_FALSE(fs.Exists("lost"));
}

TEST(FaultyFile, AnEmptiedFileMayComeBackFull) {
  std::set<std::string> found;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FaultyFileSystem fs;
    PrepareOld(fs);
    fs.OpenWrite("d/f")->Append("xy");
    fs.Crash(seed);
    fs.Restart();
    found.insert(fs.ReadAll("d/f"));
  }
  EXPECT_EQ(found, (std::set<std::string>{kOld, "", "x", "xy"}));
}

TEST(FaultyFile, FilesAndLocksFromBeforeACrashStayDead) {
  FaultyFileSystem fs;
  const auto file = fs.OpenWrite("f");
  auto lock = fs.Lock("lock");
  fs.Crash();
  fs.Restart();
  EXPECT_THROW(file->Append("x"), Error);
  const auto again = fs.Lock("lock");
  lock.reset();
  EXPECT_THROW(fs.Lock("lock"), Error);
}

TEST(FaultyFile, AFullDiskTakesWhatFits) {
  FaultyFileSystem fs;
  fs.SetDiskSpace(3);
  const auto file = fs.OpenWrite("f");
  EXPECT_THROW(file->Append("hello"), Error);
  EXPECT_EQ(fs.ReadAll("f"), "hel");
  EXPECT_THROW(file->Append("x"), Error);
}

TEST(FaultyFile, ShortReadsAreReadOn) {
  FaultyFileSystem fs;
  PrepareOld(fs);
  fs.LimitReads(3);
  std::string part(10, ' ');
  const auto file = fs.OpenRead("d/f");
  EXPECT_EQ(file->Read(0, std::as_writable_bytes(std::span(part))), 3u);
  file->ReadExactly(4, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(part, kOld.substr(4, 10));
  EXPECT_EQ(fs.ReadAll("d/f"), kOld);
}

TEST(FaultyFile, MappingIsAnOperationThatCanFailAndKeepsWhatItSaw) {
  FaultyFileSystem fs;
  PrepareOld(fs);
  const uint64_t before = fs.operations();
  const auto mapped = fs.Map("d/f");
  EXPECT_EQ(fs.operations(), before + 1);
  fs.FailAt(0);
  EXPECT_THROW(fs.Map("d/f"), Error);
  fs.FlipBit("d/f", 0);
  fs.Crash();
  const std::span<const std::byte> bytes = mapped->bytes();
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), kOld);
  EXPECT_THROW(fs.Map("d/f"), Error);
}

TEST(FaultyFile, AFlippedBitStaysFlipped) {
  FaultyFileSystem fs;
  PrepareOld(fs);
  fs.FlipBit("d/f", 8 * 2 + 1);
  fs.Crash();
  fs.Restart();
  std::string expected = kOld;
  expected[2] ^= 2;
  EXPECT_EQ(fs.ReadAll("d/f"), expected);
}

TEST(FaultyFile, FailAtFailsOneOperationAndNoOther) {
  FaultyFileSystem fs;
  const auto file = fs.OpenWrite("f");
  fs.FailAt(1);
  file->Append("a");
  EXPECT_THROW(file->Append("b"), Error);
  file->Append("c");
  EXPECT_EQ(fs.ReadAll("f"), "ac");
}

}  // namespace
}  // namespace catamaran

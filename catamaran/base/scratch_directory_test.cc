#include "catamaran/base/scratch_directory.h"

#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"

namespace catamaran {
namespace {

TEST(ScratchDirectory, IsEmptyAndGoesWithItsOwner) {
  FaultyFileSystem fs;
  std::string path;
  {
    const ScratchDirectory scratch(fs, "a/b");
    path = scratch.path();
    EXPECT_TRUE(fs.IsDirectory(path));
    EXPECT_TRUE(fs.List(path).empty());
    fs.OpenWrite(JoinPath(path, "file"))->Append("x");
  }
  EXPECT_FALSE(fs.Exists(path));
  EXPECT_TRUE(fs.List("a/b").empty());
}

TEST(ScratchDirectory, TwoAtOnceDoNotMeet) {
  FaultyFileSystem fs;
  const ScratchDirectory one(fs, "a"), two(fs, "a");
  EXPECT_NE(one.path(), two.path());
  EXPECT_TRUE(fs.IsDirectory(one.path()));
  EXPECT_TRUE(fs.IsDirectory(two.path()));
}

TEST(ScratchDirectory, WhatADeadProcessLeftIsRemovedByTheNext) {
  FaultyFileSystem fs;
  fs.MakeDirectories("a/scratch-123-0/deep");
  fs.OpenWrite("a/scratch-123-0/deep/file")->Append("x");
  fs.OpenWrite("a/scratch-123-0.lock");
  fs.OpenWrite("a/kept");
  const ScratchDirectory scratch(fs, "a");
  EXPECT_FALSE(fs.Exists("a/scratch-123-0"));
  EXPECT_FALSE(fs.Exists("a/scratch-123-0.lock"));
  EXPECT_TRUE(fs.Exists("a/kept"));
}

}  // namespace
}  // namespace catamaran

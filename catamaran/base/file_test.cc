#include "catamaran/base/file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"

namespace catamaran {
namespace {

// One suite for both file systems: the one in memory is worth something only if it does as the real
// one does.
class FileSystemTest : public testing::TestWithParam<const char*> {
 protected:
  FileSystemTest() {
    if (std::string(GetParam()) == "Faulty") {
      memory_ = std::make_unique<FaultyFileSystem>();
      root_ = "root";
      fs().MakeDirectory(root_);
    } else {
      std::string name = testing::TempDir() + "/catamaran_file_XXXXXX";
      root_ = mkdtemp(name.data());
    }
  }
  ~FileSystemTest() override { RemoveTree(fs(), root_); }

  FileSystem& fs() { return memory_ != nullptr ? *memory_ : PosixFileSystem(); }
  std::string Path(std::string_view name) const { return JoinPath(root_, name); }

  void Write(const std::string& path, std::string_view contents) {
    const auto file = fs().OpenWrite(path);
    file->Append(contents);
    file->Close();
  }

  std::unique_ptr<FaultyFileSystem> memory_;
  std::string root_;
};

INSTANTIATE_TEST_SUITE_P(, FileSystemTest, testing::Values("Posix", "Faulty"),
                         [](const auto& test) { return std::string(test.param); });

std::string ErrorOf(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_P(FileSystemTest, WhatWasAppendedIsRead) {
  const auto file = fs().OpenWrite(Path("f"));
  file->Append("hello, ");
  file->BeginSync();
  file->Append("world");
  file->Sync();
  file->Close();
  file->Close();
  EXPECT_EQ(fs().ReadAll(Path("f")), "hello, world");
}

TEST_P(FileSystemTest, OpenWriteEmptiesAndOpenAppendGoesOn) {
  Write(Path("f"), "old");
  Write(Path("f"), "ab");
  fs().OpenAppend(Path("f"))->Append("cd");
  EXPECT_EQ(fs().ReadAll(Path("f")), "abcd");
  fs().OpenAppend(Path("new"))->Append("x");
  EXPECT_EQ(fs().ReadAll(Path("new")), "x");
}

TEST_P(FileSystemTest, ReadsAnyPartOfAFile) {
  Write(Path("f"), "0123456789");
  const auto file = fs().OpenRead(Path("f"));
  EXPECT_EQ(file->size(), 10u);
  std::string part(4, ' ');
  EXPECT_EQ(file->Read(3, std::as_writable_bytes(std::span(part))), 4u);
  EXPECT_EQ(part, "3456");
  EXPECT_EQ(file->Read(8, std::as_writable_bytes(std::span(part))), 2u);
  EXPECT_EQ(file->Read(10, std::as_writable_bytes(std::span(part))), 0u);
  const std::string error =
      ErrorOf([&] { file->ReadExactly(8, std::as_writable_bytes(std::span(part))); });
  EXPECT_EQ(error,
            "cannot read 4 bytes at offset 8 of " + Path("f") + ": the file ends at byte 10");
}

TEST_P(FileSystemTest, AMappedFileIsItsBytesAlsoWhenTheNameIsGone) {
  std::string contents(100'000, 'x');
  for (size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<char>(i * 7 >> 3);
  Write(Path("f"), contents);
  const auto file = fs().Map(Path("f"));
  fs().Remove(Path("f"));
  EXPECT_EQ(file->path(), Path("f"));
  const auto text = [&] {
    return std::string_view(reinterpret_cast<const char*>(file->bytes().data()),
                            file->bytes().size());
  };
  EXPECT_EQ(text(), contents);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % 64, 0u);
  file->WillNeed(5'000, 60'000);
  file->DoneWith(4'097, UINT64_MAX);
  file->DoneWith(100'000, 1);
  EXPECT_EQ(text(), contents);
}

TEST_P(FileSystemTest, AnEmptyFileIsMappedToNoBytesAndAMissingOneIsAnError) {
  Write(Path("f"), "");
  EXPECT_TRUE(fs().Map(Path("f"))->bytes().empty());
  EXPECT_EQ(ErrorOf([&] { fs().Map(Path("none")); }),
            "cannot open to map " + Path("none") + ": No such file or directory");
}

TEST_P(FileSystemTest, ReadAllRefusesAFileThatIsTooLarge) {
  Write(Path("f"), "0123456789");
  EXPECT_EQ(fs().ReadAll(Path("f"), 10), "0123456789");
  EXPECT_THROW(fs().ReadAll(Path("f"), 9), Error);
}

TEST_P(FileSystemTest, TruncateCutsButNeverExtends) {
  Write(Path("f"), "0123456789");
  fs().Truncate(Path("f"), 4);
  EXPECT_EQ(fs().ReadAll(Path("f")), "0123");
  EXPECT_THROW(fs().Truncate(Path("f"), 5), Error);
}

TEST_P(FileSystemTest, RenameReplacesTheTarget) {
  Write(Path("a"), "new");
  Write(Path("b"), "old");
  fs().Rename(Path("a"), Path("b"));
  EXPECT_FALSE(fs().Exists(Path("a")));
  EXPECT_EQ(fs().ReadAll(Path("b")), "new");
}

TEST_P(FileSystemTest, DirectoriesAreMadeListedAndRemoved) {
  fs().MakeDirectories(Path("x/y/z"));
  fs().MakeDirectories(Path("x/y/z"));
  fs().MakeDirectory(Path("x/y"));
  Write(Path("x/b"), "");
  Write(Path("x/a"), "");
  EXPECT_EQ(fs().List(Path("x")), (std::vector<std::string>{"a", "b", "y"}));
  EXPECT_TRUE(fs().IsDirectory(Path("x/y")));
  EXPECT_FALSE(fs().IsDirectory(Path("x/a")));
  EXPECT_FALSE(fs().Exists(Path("x/a/b")));
  EXPECT_THROW(fs().Remove(Path("x")), Error);
  RemoveTree(fs(), Path("x"));
  RemoveTree(fs(), Path("x"));
  EXPECT_FALSE(fs().Exists(Path("x")));
}

TEST_P(FileSystemTest, AnErrorSaysWhatWasDoneToWhichPathAndWhatTheSystemSaid) {
  EXPECT_EQ(ErrorOf([&] { fs().OpenRead(Path("none")); }),
            "cannot open for reading " + Path("none") + ": No such file or directory");
  EXPECT_EQ(ErrorOf([&] { fs().OpenWrite(Path("none/f")); }),
            "cannot open for writing " + Path("none/f") + ": No such file or directory");
  EXPECT_EQ(ErrorOf([&] { fs().OpenWrite(root_); }),
            "cannot open for writing " + root_ + ": Is a directory");
  EXPECT_EQ(ErrorOf([&] { fs().Remove(Path("none")); }),
            "cannot remove " + Path("none") + ": No such file or directory");
}

TEST_P(FileSystemTest, AFailureHasTheCodeOfStorage) {
  try {
    fs().OpenRead(Path("missing"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kStorage);
  }
}

TEST_P(FileSystemTest, ALockThatAnotherHoldsMayBeHadLater) {
  const auto lock = fs().Lock(Path("lock"));
  try {
    fs().Lock(Path("lock"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  }
}

TEST_P(FileSystemTest, ALockIsHeldByOneAtATime) {
  auto lock = fs().Lock(Path("lock"));
  EXPECT_EQ(ErrorOf([&] { fs().Lock(Path("lock")); }),
            "cannot lock " + Path("lock") + ": somebody else holds the lock");
  lock.reset();
  EXPECT_NO_THROW(fs().Lock(Path("lock")));
}

TEST_P(FileSystemTest, WriteFileAtomicallyReplacesAndLeavesNothingBehind) {
  WriteFileAtomically(fs(), Path("f"), "one");
  WriteFileAtomically(fs(), Path("f"), "two");
  EXPECT_EQ(fs().ReadAll(Path("f")), "two");
  EXPECT_EQ(fs().List(root_), std::vector<std::string>{"f"});
}

TEST(Paths, ParentAndJoin) {
  EXPECT_EQ(ParentDirectory("a/b/c"), "a/b");
  EXPECT_EQ(ParentDirectory("a/b/"), "a");
  EXPECT_EQ(ParentDirectory("a//b"), "a");
  EXPECT_EQ(ParentDirectory("c"), ".");
  EXPECT_EQ(ParentDirectory("/c"), "/");
  EXPECT_EQ(ParentDirectory("/"), "/");
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
}

}  // namespace
}  // namespace catamaran

// What kinds of errors commits end with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/base/forwarded_files.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/opened_commit.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using test::Ctr;
using test::TestProgram;
using ::testing::HasSubstr;

constexpr const char* kDirectory = "live";

ErrorCode CodeAfter(FunctionRef<void()> body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

// There is no memory, or no descriptor, for files of a certain name.
class FilesWithoutRoom final : public ForwardedFiles {
 public:
  FilesWithoutRoom(FileSystem& fs, std::string name) : ForwardedFiles(fs), name_(std::move(name)) {}
  std::unique_ptr<RandomReadFile> OpenRead(const std::string& path) const override {
    if (path.ends_with(name_)) {
      Fail(ErrorCode::kResourceExhausted, "cannot open {}: Too many open files", path);
    }
    return ForwardedFiles::OpenRead(path);
  }

 private:
  const std::string name_;
};

TEST(ErrorCodesOfCommits, AreThoseOfTheirCauses) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto load = [&](const Program& flat) { LoadState(fs, kDirectory, flat); };
  EXPECT_EQ(CodeAfter([&] { load(ctr.flat); }), ErrorCode::kInvalidArgument);  // none was saved

  const auto state = State::Create(ctr.flat, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  TestProgram other("other");
  other.Param("w", "f32[2]");
  EXPECT_EQ(CodeAfter([&] { load(other.flat); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeAfter([&] { OpenCommit(fs, kDirectory, 7, false); }), ErrorCode::kInvalidArgument);

  fs.SetDiskSpace(0);
  EXPECT_EQ(CodeAfter([&] { SaveState(fs, kDirectory, ctr.flat, *state); }),
            ErrorCode::kResourceExhausted);
  fs.SetDiskSpace(1 << 30);

  fs.FlipBit(JoinPath(kDirectory, DenseFileName(1)), 500);
  EXPECT_EQ(CodeAfter([&] { load(ctr.flat); }), ErrorCode::kStorage);
}

// An older commit in its place would have lost what was learned since, and said nothing of it.
TEST(OpenedCommit, ACommitThatMemoryDoesNotSufficeForIsNotPassedOver) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  SaveState(fs, kDirectory, ctr.flat, *state);
  for (const std::string& name : {std::string("commit-2"), DenseFileName(2)}) {
    const FilesWithoutRoom full(fs, name);
    EXPECT_EQ(CodeAfter([&] { OpenNewestCommit(full, kDirectory, true); }),
              ErrorCode::kResourceExhausted)
        << name;
  }
  EXPECT_EQ(OpenNewestCommit(fs, kDirectory, true).found.commit, 2u);
}

}  // namespace
}  // namespace catamaran

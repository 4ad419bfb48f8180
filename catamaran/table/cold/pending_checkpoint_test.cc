// A checkpoint is made beside everything else, and is there for whoever comes for it.

#include "catamaran/table/cold/pending_checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

namespace fs = std::filesystem;

class PendingCheckpointTest : public testing::Test {
 protected:
  PendingCheckpointTest()
      : directory_(fs::path(testing::TempDir()) /
                   ("pending_checkpoint_test_" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    store_ = DiskStore::Make(layout_, {.directory = Path("store")});
  }
  ~PendingCheckpointTest() override {
    store_.reset();
    fs::remove_all(directory_);
  }
  std::string Path(const char* name) const { return (directory_ / name).string(); }

  const fs::path directory_;
  const RowLayout layout_{TableConfig{.width = 2}};
  std::unique_ptr<DiskStore> store_;
};

TEST_F(PendingCheckpointTest, IsMovedToWhereItIsWantedOnce) {
  PendingCheckpoint pending(Path("pending"));
  pending.Start(*store_);
  pending.MoveTo(Path("saved"));
  EXPECT_FALSE(pending.running());
  EXPECT_FALSE(fs::exists(Path("pending")));
  EXPECT_NO_THROW(DiskStore::OpenCheckpoint(layout_, Path("saved")));
  EXPECT_THROW(pending.MoveTo(Path("again")), Error);
}

TEST_F(PendingCheckpointTest, LeavesNothingWhenNobodyComes) {
  PendingCheckpoint pending(Path("pending"));
  pending.Start(*store_);
  pending.Drop();
  EXPECT_FALSE(fs::exists(Path("pending")));
  EXPECT_THROW(pending.MoveTo(Path("saved")), Error);
  pending.Start(*store_);
  pending.MoveTo(Path("saved"));
  EXPECT_TRUE(fs::exists(Path("saved")));
}

TEST_F(PendingCheckpointTest, TellsWhoeverComesWhatWentWrong) {
  PendingCheckpoint pending(Path("missing/parent/pending"));
  pending.Start(*store_);
  EXPECT_THROW(pending.MoveTo(Path("saved")), Error);
}

}  // namespace
}  // namespace catamaran

// A process that appends is killed at any moment: every record whose Append returned is there.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catamaran/base/scratch_directory.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/log/log_test_util.h"

namespace catamaran {
namespace {

using testing::AllOf;
using testing::AppendTo;
using testing::AreNumbered;
using testing::Numbered;

// Appends from record `next` on for ever, and says after each which it was.
[[noreturn]] void AppendForever(const std::string& directory, int next, int tell) {
  try {
    const auto log = Log::Open(PosixFileSystem(), directory, {.segment_bytes = 20'000});
    for (;; ++next) {
      const LogOffset end = AppendTo(*log, Numbered(next));
      if (next % 16 == 0) log->WhenDurable(end, [](const Error*) {});
      if (write(tell, &next, sizeof(next)) != sizeof(next)) break;
    }
  } catch (const Error&) {
  }
  _exit(1);
}

TEST(LogKill, EveryRecordWhoseAppendReturnedIsThere) {
  const ScratchDirectory scratch(PosixFileSystem(), ::testing::TempDir());
  const std::string directory = scratch.path() + "/log";
  int there = 0;
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      AppendForever(directory, there, ends[1]);
    }
    close(ends[1]);
    // Somewhere in the middle of things, another place each time.
    int last = -1;
    for (int i = 0; i < 100 + round * 97; ++i) {
      ASSERT_EQ(read(ends[0], &last, sizeof(last)), static_cast<ssize_t>(sizeof(last)));
    }
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (read(ends[0], &last, sizeof(last)) == static_cast<ssize_t>(sizeof(last))) {
    }
    close(ends[0]);

    const auto log = Log::Open(PosixFileSystem(), directory, {.segment_bytes = 20'000});
    const auto all = AllOf(*log);
    there = static_cast<int>(all.size());
    EXPECT_GT(there, last);
    EXPECT_LE(there, last + 2);  // one may have been appended and not told
    EXPECT_TRUE(AreNumbered(all));
    EXPECT_EQ(log->durable_end(), log->end());
  }
}

}  // namespace
}  // namespace catamaran

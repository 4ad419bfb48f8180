#include "catamaran/base/room.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/base/start_thread.h"
#include "catamaran/base/thread_pool.h"

namespace catamaran {
namespace {

// The tests change limits of the process, so their bodies run in processes of their own, which end
// with 0 if all was as it should be.
#define EXPECT_IN_A_PROCESS(body)                          \
  do {                                                     \
    GTEST_FLAG_SET(death_test_style, "threadsafe");        \
    EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), ""); \
  } while (false)

void Limit(int what, rlim_t most) {
  const rlimit limit = {most, most};
  if (::setrlimit(static_cast<__rlimit_resource>(what), &limit) != 0) std::exit(90);
}

// No thread's stack fits: root's threads are not counted, their stacks are.
void AllowNoThread() { Limit(RLIMIT_DATA, 1 << 20); }

// The message of the resource error that `body` ends with; the process ends with `otherwise` if it
// ends in another way.
template <class Body>
std::string RunsOut(const Body& body, int otherwise) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kResourceExhausted) return error.what();
  } catch (...) {
  }
  std::exit(otherwise);
}

void ExitUnless(bool condition, int otherwise) {
  if (!condition) std::exit(otherwise);
}

TEST(RoomDeathTest, TooFewDescriptorsAreAnErrorThatNamesTheLimit) {
  EXPECT_IN_A_PROCESS([] {
    Limit(RLIMIT_NOFILE, 16);
    const std::string what = RunsOut([] { CheckRoom({.descriptors = 32}, "to test"); }, 1);
    ExitUnless(what.starts_with("32 descriptors are needed to test, and "), 2);
    ExitUnless(what.find("ulimit -n") != what.npos, 3);
    CheckRoom({.descriptors = 4}, "to test");  // and those that were taken are back
    std::exit(0);
  });
}

TEST(RoomDeathTest, ThreadsAndMemoryThatCannotBeHadAreErrors) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the process where memory ends";
#endif
  EXPECT_IN_A_PROCESS([] {
    CheckRoom({.descriptors = 4, .threads = 4, .bytes = 1 << 20}, "to test");
    AllowNoThread();
    RunsOut([] { CheckRoom({.threads = 16}, "to test"); }, 1);  // some stacks are kept
    RunsOut([] { CheckRoom({.bytes = size_t{64} << 20}, "to test"); }, 2);
    std::exit(0);
  });
}

TEST(RoomDeathTest, ThreadsThatCannotBeStartedAreErrorsWhereTheyAreStarted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the process where memory ends";
#endif
  EXPECT_IN_A_PROCESS([] {
    AllowNoThread();
    const std::string what = RunsOut([] { StartThread("of the test", [] {}).join(); }, 1);
    ExitUnless(what.starts_with("cannot start the thread of the test: "), 2);
    RunsOut([] { ThreadPool pool(4); }, 3);
    // Its second thread was once started by the first, which had nobody to tell.
    RunsOut([] { StartBackground([] {}).join(); }, 4);
    GiveWay();  // does without
    Breathe();
    std::exit(0);
  });
}

TEST(RoomDeathTest, TheLastDescriptorsAreNotForConnections) {
  EXPECT_IN_A_PROCESS([] {
    Limit(RLIMIT_NOFILE, 64);
    int descriptor = ::open("/", O_RDONLY);
    ExitUnless(descriptor >= 0 && !DescriptorsRunOut(descriptor), 1);
    while (descriptor < 60) descriptor = ::open("/", O_RDONLY);
    ExitUnless(DescriptorsRunOut(descriptor), 2);
    std::exit(0);
  });
}

TEST(RoomDeathTest, AFileBeyondTheLimitOfSizesAndDescriptorsThatRunOutAreResourceErrors) {
  EXPECT_IN_A_PROCESS([] {
    std::signal(SIGXFSZ, SIG_IGN);  // as programs do
    std::string name = ::testing::TempDir() + "/catamaran_room_XXXXXX";
    const int made = ::mkstemp(name.data());
    ExitUnless(made >= 0, 1);
    ::close(made);
    Limit(RLIMIT_FSIZE, 1000);
    FileSystem& fs = PosixFileSystem();
    RunsOut([&] { fs.OpenWrite(name)->Append(std::string(2000, 'x')); }, 2);
    Limit(RLIMIT_NOFILE, 3);
    RunsOut([&] { fs.OpenRead(name); }, 3);
    fs.Remove(name);
    try {
      fs.OpenRead("no such file");
    } catch (const Error& error) {
      std::exit(error.code() == ErrorCode::kResourceExhausted ? 0 : 4);
    }
    std::exit(5);
  });
}

}  // namespace
}  // namespace catamaran

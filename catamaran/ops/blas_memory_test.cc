#include "catamaran/ops/blas_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/ops/blas.h"

namespace catamaran::blas {
namespace {

constexpr int64_t kSize = 96;

std::vector<float> Product(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> c(kSize * kSize);
  Gemm(false, true, kSize, kSize, kSize, a.data(), kSize, b.data(), kSize, c.data(), kSize);
  return c;
}

std::vector<float> Numbers(int64_t first) {
  std::vector<float> numbers(kSize * kSize);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((first + static_cast<int64_t>(i) * 7919) % 101) / 101;
  }
  return numbers;
}

TEST(BlasMemory, OpenBlasTakesItsWorkAreasFromUs) {
  const int64_t before = WorkAreasAsked();
  Product(Numbers(1), Numbers(2));
  EXPECT_GT(WorkAreasAsked(), before);
}

TEST(BlasMemory, ProductsOnManyThreadsDoNotShareAWorkArea) {
  constexpr int kThreads = 12, kRuns = 200;
  std::vector<std::vector<float>> wanted;
  for (int t = 0; t < kThreads; ++t) wanted.push_back(Product(Numbers(t), Numbers(t + 1)));
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> a = Numbers(t), b = Numbers(t + 1);
      for (int run = 0; run < kRuns; ++run) wrong[t] += Product(a, b) != wanted[t];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // they end at the first failure
int64_t DataKilobytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "VmData:") continue;
    int64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes;
  }
  return 0;
}

TEST(BlasMemoryDeathTest, AProductWithoutMemoryFailsAndDoesNotTryForEver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has no work area yet
  const auto multiply = [] {
    const auto bytes = static_cast<rlim_t>(DataKilobytes() + 65'536) * 1024;
    const rlimit limit = {bytes, bytes};
    if (::setrlimit(RLIMIT_DATA, &limit) != 0) std::exit(10);
    try {
      Product(Numbers(1), Numbers(2));
    } catch (const Error& error) {
      std::exit(error.code() == ErrorCode::kResourceExhausted ? 0 : 11);
    }
    std::exit(12);
  };
  EXPECT_EXIT(multiply(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace catamaran::blas

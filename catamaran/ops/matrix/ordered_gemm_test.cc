#include "catamaran/ops/matrix/ordered_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace catamaran {
namespace {

std::vector<float> Numbers(int64_t count, uint64_t seed) {
  std::vector<float> numbers(static_cast<size_t>(count));
  uint64_t state = seed;
  for (float& x : numbers) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<float>(static_cast<int32_t>(state >> 33)) * 0x1p-30F;
  }
  return numbers;
}

struct Sizes {
  int64_t m, n, k;
};

// One row, tiles that are full and cut off in both directions, packed or not, and k in pieces.
constexpr Sizes kSizes[] = {{1, 128, 221}, {1, 5, 3},        {2, 300, 17},
                            {5, 67, 40},   {15, 33, 9},      {64, 16, 70},
                            {129, 47, 33}, {300, 140, 1100}, {130, 40, 1024}};

class OrderedGemmTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > DetectIsa() || !HasOrderedGemm(GetParam())) {
      GTEST_SKIP() << "this processor does not have " << IsaName(GetParam());
    }
  }
};

TEST_P(OrderedGemmTest, EachSumIsOneChainOfFusedMultiplyAdds) {
  for (const auto [m, n, k] : kSizes) {
    const std::vector<float> a = Numbers(m * k, 1), b = Numbers(k * n, 2),
                             start = Numbers(m * n, 3);
    std::vector<float> c(static_cast<size_t>(m * n));
    OrderedGemm(GetParam(), m, n, k, a.data(), k, b.data(), n, start.data(), n, c.data(), n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = start[static_cast<size_t>(i * n + j)];
        for (int64_t p = 0; p < k; ++p) {
          sum = std::fma(a[static_cast<size_t>(i * k + p)], b[static_cast<size_t>(p * n + j)], sum);
        }
        ASSERT_EQ(c[static_cast<size_t>(i * n + j)], sum) << m << " " << n << " " << k;
      }
    }
  }
}

TEST_P(OrderedGemmTest, AProductInTwoPartsHasTheSameBits) {
  for (const auto [m, n, k] : kSizes) {
    const std::vector<float> a = Numbers(m * k, 1), b = Numbers(k * n, 2);
    std::vector<float> whole(static_cast<size_t>(m * n)), parts(whole.size());
    OrderedGemm(GetParam(), m, n, k, a.data(), k, b.data(), n, nullptr, 0, whole.data(), n);
    for (const int64_t first : {int64_t{0}, int64_t{1}, k / 2, k}) {
      OrderedGemm(GetParam(), m, n, first, a.data(), k, b.data(), n, nullptr, 0, parts.data(), n);
      OrderedGemm(GetParam(), m, n, k - first, a.data() + first, k, b.data() + first * n, n,
                  parts.data(), n, parts.data(), n);
      ASSERT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0)
          << m << " " << n << " " << k << " at " << first;
    }
  }
}

TEST_P(OrderedGemmTest, ARowDoesNotDependOnTheOthers) {
  const int64_t n = 70, k = 53;
  const std::vector<float> a = Numbers(200 * k, 1), b = Numbers(k * n, 2);
  std::vector<float> all(200 * n), one(n);
  OrderedGemm(GetParam(), 200, n, k, a.data(), k, b.data(), n, nullptr, 0, all.data(), n);
  for (int64_t row = 0; row < 200; ++row) {
    OrderedGemm(GetParam(), 1, n, k, a.data() + row * k, k, b.data(), n, nullptr, 0, one.data(), n);
    ASSERT_EQ(std::memcmp(one.data(), all.data() + row * n, n * sizeof(float)), 0) << row;
  }
}

TEST_P(OrderedGemmTest, NothingIsWrittenBesideTheResult) {
  for (const auto [m, n, k] : kSizes) {
    const std::vector<float> a = Numbers(m * k, 1), b = Numbers(k * n, 2);
    const int64_t ldc = n + 3;
    std::vector<float> c(static_cast<size_t>(m * ldc), -7);
    OrderedGemm(GetParam(), m, n, k, a.data(), k, b.data(), n, nullptr, 0, c.data(), ldc);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = n; j < ldc; ++j) ASSERT_EQ(c[static_cast<size_t>(i * ldc + j)], -7);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, OrderedGemmTest, testing::Values(Isa::kAvx2, Isa::kAvx512),
                         [](const auto& param) { return std::string(IsaName(param.param)); });

}  // namespace
}  // namespace catamaran

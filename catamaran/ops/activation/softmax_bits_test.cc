// Softmax and its relatives have the same bits on every instruction set, for one row and for many
// done together, with and without a tail.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/ops/activation/along_axis.h"

namespace catamaran {
namespace {

template <class T>
SoftmaxKernels<T> KernelsOf(Isa isa) {
  PreparedAlongAxis found;
  FindSoftmaxKernels(isa, &found.f32, &found.f64);
  if constexpr (sizeof(T) == 4) {
    return found.f32;
  } else {
    return found.f64;
  }
}

template <class T>
std::vector<T> Numbers(int64_t count) {
  std::vector<T> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(std::sin(static_cast<double>(i) * 12.9898) * 7);
  }
  return x;
}

// The results of all four functions, one after another.
template <class T>
std::vector<T> Results(Isa isa, int64_t width, int64_t rows, bool one_by_one) {
  const SoftmaxKernels<T> kernels = KernelsOf<T>(isa);
  const std::vector<T> x = Numbers<T>(rows * width);
  const size_t size = x.size();
  std::vector<T> y(3 * size + static_cast<size_t>(rows));
  const int64_t step = one_by_one ? 1 : rows;
  for (int64_t r = 0; r < rows; r += step) {
    kernels.softmax(x.data(), y.data(), width, 1, r, r + step);
    kernels.log_softmax(x.data(), y.data() + size, width, 1, r, r + step);
    kernels.softmax_grad(y.data(), x.data(), y.data() + 2 * size, width, 1, r, r + step);
    kernels.log_sum_exp(x.data(), y.data() + 3 * size, width, 1, r, r + step);
  }
  return y;
}

template <class T>
void ExpectSameBits() {
  for (int64_t width : {1, 3, 8, 10, 16, 21, 64, 100, 513}) {
    for (int64_t rows : {1, 4, 16, 37}) {
      const std::vector<T> wanted = Results<T>(Isa::kPlain, width, rows, true);
      for (Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
        if (isa > DetectIsa()) continue;
        const std::vector<T> got = Results<T>(isa, width, rows, false);
        EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)), 0)
            << width << " wide, " << rows << " rows, " << IsaName(isa);
      }
    }
  }
}

TEST(SoftmaxBits, DoNotDependOnTheInstructionSetF32) { ExpectSameBits<float>(); }
TEST(SoftmaxBits, DoNotDependOnTheInstructionSetF64) { ExpectSameBits<double>(); }

}  // namespace
}  // namespace catamaran

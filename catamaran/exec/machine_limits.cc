#include "catamaran/exec/machine_limits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "catamaran/base/clock.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/blas.h"
#include "catamaran/ops/onednn.h"

namespace catamaran {
namespace {

constexpr int64_t kSide = 768;
constexpr size_t kBytes = size_t{128} << 20;

// Of a few runs the fastest, in seconds.
double BestOf(int runs, FunctionRef<void()> body) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < runs; ++i) {
    const int64_t begin = SteadyClock().Now();
    body();
    best = std::min(best, SteadyClock().Now() - begin);
  }
  return static_cast<double>(std::max<int64_t>(best, 1)) * 1e-9;
}

double MeasureProducts(ThreadPool& pool) {
  const std::vector<float> a(kSide * kSide, 0.5f), b(kSide * kSide, 0.25f);
  std::vector<float> c(kSide * kSide);
  using Product = void (*)(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t,
                           const float*, int64_t, float*, int64_t);
  const auto measure = [&](Product product) {
    const int64_t part = (kSide + pool.threads() - 1) / pool.threads();
    return BestOf(4, [&] {
      pool.ParallelFor(kSide, part, [&](int64_t begin, int64_t end) {
        product(false, false, end - begin, kSide, kSide, a.data() + begin * kSide, kSide, b.data(),
                kSide, c.data() + begin * kSide, kSide);
      });
    });
  };
  double seconds = measure(static_cast<Product>(&blas::Gemm));
  if constexpr (onednn::kAvailable) seconds = std::min(seconds, measure(&onednn::Sgemm));
  return 2.0 * kSide * kSide * kSide / seconds;
}

double MeasureMemory(ThreadPool& pool) {
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 2);
  const double seconds = BestOf(3, [&] {
    pool.ParallelFor(kBytes, 1 << 20, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
    });
  });
  return 2.0 * static_cast<double>(kBytes) / seconds;
}

}  // namespace

MachineLimits MeasureMachineLimits(int threads) {
  ThreadPool pool(threads);
  return {threads, MeasureProducts(pool), MeasureMemory(pool)};
}

}  // namespace catamaran

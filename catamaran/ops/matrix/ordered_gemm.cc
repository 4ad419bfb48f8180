#include "catamaran/ops/matrix/ordered_gemm.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "catamaran/ops/matrix/ordered_gemm_simd.h"

namespace catamaran {
namespace {

// From this many rows on it pays to copy b into panels.
constexpr int64_t kPackRows = 128;
// So many of k at a time, with the sums so far in c between: rows of a stay in the first cache.
constexpr int64_t kMostK = 512;
// Panels of b that are multiplied with rows of a one after another: they stay in the second cache.
constexpr int64_t kPackedNumbers = 131072;
static_assert(kPackedNumbers >= kMostK * kMostPanel);

struct Freed {
  void operator()(float* memory) const { std::free(memory); }
};

// Memory for copies, kept by the thread: products are too short for a page fault each. Null where
// there is none; then it goes without.
const PackedMemory* MemoryOfThread() {
  constexpr int64_t kRows = kMostRows * (kMostK + 32);
  thread_local const std::unique_ptr<float, Freed> numbers(static_cast<float*>(
      std::aligned_alloc(64, static_cast<size_t>(kPackedNumbers + kRows) * sizeof(float))));
  thread_local const PackedMemory memory = {numbers.get(), kPackedNumbers,
                                            numbers.get() + kPackedNumbers};
  return numbers ? &memory : nullptr;
}

const OrderedGemmTable* TableOf([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return &avx512::kOrderedGemm;
  if (isa == Isa::kAvx2) return &avx2::kOrderedGemm;
#endif
  return nullptr;
}

}  // namespace

bool HasOrderedGemm(Isa isa) { return TableOf(isa) != nullptr; }

void OrderedGemm(Isa isa, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                 const float* b, int64_t ldb, const float* start, int64_t ld_start, float* c,
                 int64_t ldc) {
  const PackedMemory* memory = m >= kPackRows && k > 0 ? MemoryOfThread() : nullptr;
  const int64_t blocks = std::max<int64_t>(1, (k + kMostK - 1) / kMostK);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t from = k * block / blocks, count = k * (block + 1) / blocks - from;
    TableOf(isa)->multiply(
        {m, n, count, a + from, lda, b + from * ldb, ldb, start, ld_start, c, ldc}, memory);
    start = c, ld_start = ldc;
  }
}

}  // namespace catamaran

// What this machine can do at most: matrix products in GFLOP/s (the better of oneDNN and OpenBLAS
// at 1024 x 1024 x 1024) and memory in GB/s, read and copied, on arrays beyond every cache.

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/gemm.h"
#include "bench/stream.h"
#include "bench/worker.h"
#include "catamaran/base/thread_pool.h"

namespace catamaran::bench {
namespace {

constexpr size_t kWords = size_t{1} << 25;  // 256 MiB
constexpr GemmShape kSquare = {false, false, 1024, 1024, 1024};

class Machine final : public Case {
 public:
  explicit Machine(int threads) : pool_(threads), gemm_(kSquare), from_(kWords, 1), to_(kWords, 2) {
    gemm_.Multiply(GemmLibrary::kOneDnn, pool_);
    gemm_.Multiply(GemmLibrary::kOpenBlas, pool_);
  }

  Measurement Run() override {
    const double onednn = Timed(3, [&] { gemm_.Multiply(GemmLibrary::kOneDnn, pool_); });
    const double openblas = Timed(3, [&] { gemm_.Multiply(GemmLibrary::kOpenBlas, pool_); });
    const double read = Timed(1, [&] {
      pool_.ParallelFor(kWords, 1 << 18, [&](int64_t begin, int64_t end) {
        to_[begin] = ReadAll(from_.data() + begin, end - begin);
      });
    });
    const double copy = Timed(1, [&] {
      pool_.ParallelFor(kWords, 1 << 18, [&](int64_t begin, int64_t end) {
        std::memcpy(to_.data() + begin, from_.data() + begin, 8 * (end - begin));
      });
    });
    const double bytes = 8.0 * kWords;
    return {onednn + openblas + read + copy,
            {{"gemm_gflops", kSquare.operations() / std::min(onednn, openblas) * 1e-9},
             {"gemm_onednn_gflops", kSquare.operations() / onednn * 1e-9},
             {"gemm_openblas_gflops", kSquare.operations() / openblas * 1e-9},
             {"read_gbs", bytes / read * 1e-9},
             {"copy_gbs", 2 * bytes / copy * 1e-9}}};
  }

 private:
  ThreadPool pool_;
  GemmMemory gemm_;
  std::vector<uint64_t> from_, to_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const int threads = std::atoi(Option(argc, argv, "--threads", "1").c_str());
  return Serve("", [&](const std::string&) -> std::unique_ptr<Case> {
    return std::make_unique<Machine>(threads);
  });
}

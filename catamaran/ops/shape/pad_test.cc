// pad of sizes that threads share, with runs longer and shorter than a vector.

#include <gtest/gtest.h>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

Tensor Padded(const Tensor& x, const std::vector<NamedAttr>& attrs, const std::string& kernel,
              ThreadPool* pool) {
  KernelBench bench;
  bench.kernel = kernel;
  bench.pool = pool;
  const Op* done = bench.Run("pad", {bench.Arg(x)}, {}, attrs);
  return bench.tensor(done->result(0)).Clone();
}

TEST(Pad, ThreadsGiveWhatTheReferenceGives) {
  struct Case {
    Shape shape;
    Attr before, after;
  };
  const Case cases[] = {
      {{5, 3, 61, 67},
       Attr::Ints({0, 0, 4, 4}),
       Attr::Ints({0, 0, 4, 4})},  // a run of the border between rows
      {{7, 90, 150},
       Attr::Ints({1, 0, 2}),
       Attr::Ints({2, 0, 0})},  // an axis without border between two
      {{300, 3, 50}, Attr::Ints({2, 1, 0}), Attr::Ints({0, 3, 0})},  // blocks behind the border
      {{130, 999}, Attr::Ints({1, 5}), Attr::Ints({3, 7})},          // long rows
      {{20000, 1}, Attr::Ints({1, 2}), Attr::Ints({1, 4})},          // short ones
      {{3, 40000}, Attr::Ints({0, 0}), Attr::Ints({0, 0})},          // nothing at all
      {{100000}, Attr::Ints({3}), Attr::Ints({9})},                  // a single row
  };
  ThreadPool pool(3);
  for (const std::string mode : {"constant", "reflect", "edge", "wrap"}) {
    for (const Case& c : cases) {
      for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kU8}) {
        SCOPED_TRACE(testing::Message() << mode << " " << c.shape.ToString() << " " << dtype);
        const Tensor x = Cast(Uniform(c.shape, 0, 100, 1), dtype);
        const std::vector<NamedAttr> attrs = {
            {"before", c.before}, {"after", c.after}, {"mode", Attr::Word(mode)}, {"value", 7.0}};
        const Tensor wanted = Padded(x, attrs, "reference", nullptr);
        EXPECT_TRUE(Padded(x, attrs, "rows", nullptr).Equals(wanted));
        EXPECT_TRUE(Padded(x, attrs, "rows", &pool).Equals(wanted));
      }
    }
  }
}

}  // namespace
}  // namespace catamaran

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "catamaran/table/row_codec.h"

namespace catamaran {
namespace {

TEST(RowKernels, WholeVectorsOfRowwiseAdagradHaveTheBitsOfTheRule) {
  std::mt19937 random(1);
  const rules::Hyper hyper;
  const auto factors = rules::FactorsOf<float>(rules::Rule::kRowwiseAdagrad, hyper, 0.1, 1);
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) continue;
    for (const int64_t columns : {15, 16, 17, 32, 64, 1024}) {
      const auto n = static_cast<size_t>(columns);
      std::vector<float> row(n + 1), gradient(n + 1);
      for (float& x : row) x = static_cast<float>(random() % 1000) / 300 - 1;
      for (float& x : gradient) x = static_cast<float>(random() % 1000) / 300 - 1;
      std::vector<float> want = row;
      std::vector<float> got_sum(n, 0.5f), want_sum = got_sum;
      for (int step = 0; step < 3; ++step) {
        // One number in, so that rows are not aligned.
        float* got_slots[kMaxSlots] = {got_sum.data()};
        float* want_slots[kMaxSlots] = {want_sum.data()};
        RowKernelsFor(isa).update(factors, row.data() + 1, gradient.data() + 1, got_slots, columns);
        rules::Apply(factors, want.data() + 1, gradient.data() + 1, want_slots, 1, columns);
      }
      EXPECT_EQ(row, want) << columns;
      EXPECT_EQ(got_sum, want_sum) << columns;
    }
  }
}

}  // namespace
}  // namespace catamaran

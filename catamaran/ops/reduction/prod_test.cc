// Products along rows of every length: the same bits with every instruction set.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "catamaran/ops/reduction/reduce_isa.h"

namespace catamaran {
namespace {

double Product(Isa isa, const std::vector<float>& x) {
  const Reducer* reducer = ReduceFunctionsFor(isa).reducer(ReduceKind::kProd, ReduceElement::kF32);
  double product = 0;
  reducer->init(&product, 1);
  reducer->along(x.data(), 1, static_cast<int64_t>(x.size()), &product);
  return product;
}

TEST(Prod, EveryInstructionSetGivesTheSameBits) {
  std::vector<float> x;
  for (int n = 0; n < 300; ++n) {
    double wanted = 1;
    for (float v : x) wanted *= v;
    const double plain = Product(Isa::kPlain, x);
    EXPECT_NEAR(plain, wanted, 1e-12 * std::abs(wanted)) << n;
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      if (isa > DetectIsa()) continue;
      EXPECT_EQ(Product(isa, x), plain) << n << " " << IsaName(isa);
    }
    x.push_back(1.1f * std::sin(static_cast<float>(n + 1)) + (n % 2 ? 1.0f : -0.9f));
  }
}

}  // namespace
}  // namespace catamaran

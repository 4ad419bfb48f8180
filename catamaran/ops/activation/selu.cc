// ops/activation/selu.cc
//
// selu(x): elu scaled such that means and variances stay, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSelu(OpSet& ops) {
  Elementwise(ops, "selu",
              [](Expr x) {
                return 1.0507009873554805 * Where(x > 0, x, 1.6732632423543772 * Expm1(Min(x, 0)));
              })
      .Group("activation")
      .Doc(
          "elu with an alpha and a scale for which layers of normal weights keep mean 0 and "
          "variance 1.")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

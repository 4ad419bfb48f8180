// ops/comparison/logical_not.cc
//
// logical_not(x): whether x does not hold, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLogicalNot(OpSet& ops) {
  Elementwise(ops, "logical_not", [](Cond x) { return !x; })
      .Group("comparison")
      .Doc("Whether x is false.")
      .Sample(Bools({2, 2}, {true, false, true, false}))
      .Sample(Empty({2, 0}, DType::kBool));
}

}  // namespace catamaran

// ops/comparison/logical_and.cc
//
// logical_and(a, b): whether both hold, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLogicalAnd(OpSet& ops) {
  Elementwise(ops, "logical_and", [](Cond a, Cond b) { return a && b; })
      .Group("comparison")
      .Doc("Whether a and b are both true.")
      .Sample(Bools({4}, {true, false, true, false}), Bools({4}, {true, true, false, false}))
      .Sample(Bools({2, 1}, {true, false}), Bools({2}, {true, false}))
      .Sample(Bools({}, {true}), Bools({3}, {true, false, true}))
      .Sample(Empty({0}, DType::kBool), Bools({}, {true}));
}

}  // namespace catamaran

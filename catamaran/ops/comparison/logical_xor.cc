// ops/comparison/logical_xor.cc
//
// logical_xor(a, b): whether one of a and b holds, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLogicalXor(OpSet& ops) {
  Elementwise(ops, "logical_xor", [](Cond a, Cond b) { return (a && !b) || (!a && b); })
      .Group("comparison")
      .Doc("Whether exactly one of a and b is true.")
      .Sample(Bools({4}, {true, true, false, false}), Bools({4}, {true, false, true, false}))
      .Sample(Bools({2, 1}, {true, false}), Bools({3}, {true, false, true}))
      .Sample(Bools({}, {true}), Bools({}, {true}))
      .Sample(Empty({0, 2}, DType::kBool), Bools({}, {true}));
}

}  // namespace catamaran

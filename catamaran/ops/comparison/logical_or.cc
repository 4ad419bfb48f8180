// ops/comparison/logical_or.cc
//
// logical_or(a, b): whether one of both holds, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLogicalOr(OpSet& ops) {
  Elementwise(ops, "logical_or", [](Cond a, Cond b) { return a || b; })
      .Group("comparison")
      .Doc("Whether a or b or both are true.")
      .Sample(Bools({4}, {true, false, true, false}), Bools({4}, {true, true, false, false}))
      .Sample(Bools({2, 1}, {true, false}), Bools({2}, {true, false}))
      .Sample(Bools({}, {true}), Bools({3}, {true, false, true}))
      .Sample(Empty({0}, DType::kBool), Bools({}, {true}));
}

}  // namespace catamaran

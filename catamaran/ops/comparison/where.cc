// ops/comparison/where.cc
//
// where(condition, a, b): a where the condition holds, else b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineWhere(OpSet& ops) {
  Elementwise(ops, "where", {"condition", "a", "b"},
              [](Cond condition, Expr a, Expr b) { return Where(condition, a, b); })
      .Group("comparison")
      .Doc("a where the condition is true, b elsewhere.")
      .Sample(Bools({2, 2}, {true, false, false, true}), Uniform({2, 2}, -1, 1),
              Uniform({2, 2}, -1, 1, 2))
      .Sample(Bools({2, 1}, {true, false}), Uniform({3}, -1, 1), Uniform({2, 3}, -1, 1, 2))
      .Sample(Bools({}, {true}), Uniform({2, 3}, -1, 1), Uniform({}, -1, 1, 2))
      .Sample(Bools({3}, {true, false, true}), Uniform({}, -1, 1), Uniform({}, -1, 1, 2))
      .Sample(Bools({3}, {true, false, true}), RandomInts({3}, 0, 9), RandomInts({2, 3}, 0, 9))
      .Sample(Bools({2}, {true, false}), Bools({2}, {true, false}), Bools({2}, {false, true}))
      .Sample(Empty({0, 2}, DType::kBool), Uniform({2}, -1, 1), Uniform({2}, -1, 1, 2));
}

}  // namespace catamaran

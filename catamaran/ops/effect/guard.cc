// ops/effect/guard.cc
//
// guard(conditions…): the commit region of a function takes place only if all hold.

#include "catamaran/ops/kernel_support.h"

namespace catamaran {

void DefineGuard(OpSet& ops) {
  ops.Define("guard")
      .Formula("commit only if all(conditions)")
      .Example(R"(var @total : f32[] = 0
fn add(x: f32[B]) {
  s = sum(x)
  commit {
    guard(isfinite(s))
    write(@total, @total + s)
  }
  return
})")
      .Group("effect")
      .Doc(
          "Lets the commit region take place only if every condition is true; otherwise nothing "
          "changes. The executor asks all guards of a region before its first effect.")
      .VariadicIn("conditions", "bool, of any shape")
      .Results(0)
      .Traits(EffectTraits())
      .Infer([](InferContext& c) {
        for (int i = 0; i < c.num_operands(); ++i) {
          if (!c.WantDType(i, DType::kBool)) return;
        }
      })
      .NoGrad("an effect has no value")
      // The answer is the conditions themselves.
      .Reference("", [](KernelContext&) { return KernelStatus::kDone; });
}

}  // namespace catamaran

// ops/effect/write.cc
//
// write(@s, value): a param or var takes a new value.

#include "catamaran/ops/kernel_support.h"

namespace catamaran {

void DefineWrite(OpSet& ops) {
  ops.Define("write")
      .Formula("state = value")
      .Example(R"(var @count : i64[] = 0
fn count() -> i64[] {
  next = @count + 1
  commit {
    write(@count, next)
  }
  return next
})")
      .Group("effect")
      .Doc("Gives a param or var a new value.")
      .StateArg("state")
      .In("value", "of the state's type")
      .Results(0)
      .Traits(EffectTraits())
      .Infer([](InferContext& c) {
        const StateDecl* state = c.state(0);
        if (state == nullptr) return;
        if (state->kind != StateKind::kParam && state->kind != StateKind::kVar) {
          c.Fail("@" + state->name + " is a " + std::string(StateKindName(state->kind)) +
                 "; only a param or var can be written");
          return;
        }
        c.AdoptLiteral(0, state->type.dtype());
        if (c.WantTensor(0)) c.UnifyTypes(state->type, c.type(0), "state and value");
      })
      .NoGrad("an effect has no value")
      .Reference("", [](KernelContext& c) {
        const TensorView to = c.run->state(*c.op, 0);
        const TensorView& from = c.in(0).tensor;
        if (to.data != from.data && to.num_bytes() > 0) {
          std::memcpy(to.data, from.data, to.num_bytes());
        }
        return KernelStatus::kDone;
      });
}

}  // namespace catamaran

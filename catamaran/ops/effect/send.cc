// ops/effect/send.cc
//
// send(@c, x): a value goes into a channel.

#include "catamaran/ops/kernel_support.h"

namespace catamaran {

void DefineSend(OpSet& ops) {
  ops.Define("send")
      .Formula("channel <- x")
      .Example(R"(channel @losses : f32[]
fn report(x: f32[]) {
  commit {
    send(@losses, x)
  }
  return
})")
      .Group("effect")
      .Doc("Puts a value into a channel.")
      .StateArg("channel")
      .In("x", "of the channel's element type")
      .Results(0)
      .Traits(EffectTraits())
      .Infer([](InferContext& c) {
        const StateDecl* state = c.state(0);
        if (state == nullptr) return;
        if (state->kind != StateKind::kChannel || state->type.kind() != TypeKind::kChan) {
          c.Fail("@" + state->name + " is a " + std::string(StateKindName(state->kind)) +
                 ", wanted a channel");
          return;
        }
        const Type element = state->type.element();
        if (element.is_tensor()) c.AdoptLiteral(0, element.dtype());
        if (c.WantTensor(0)) c.UnifyTypes(element, c.type(0), "channel and value");
      })
      .NoGrad("an effect has no value")
      .Reference("", [](KernelContext& c) -> KernelStatus {
        Fail(ErrorCode::kInvalidProgram, "channels do not run yet: send to @{}", c.op->states[0]);
      });
}

}  // namespace catamaran

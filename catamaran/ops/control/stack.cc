// ops/control/stack.cc
//
// Stacks: what a loop keeps for its backward pass. A push and a pop are each other's gradient.
// They consume the stack they are given and yield it changed.

#include "catamaran/ops/kernel_support.h"
#include "catamaran/tensor/stack_value.h"

namespace catamaran {
namespace {

OpTraits StackTraits(bool mutates) {
  OpTraits traits = RaggedTraits();
  traits.mutates_first = mutates;
  return traits;
}

// The stack of operand 0, which result 0 goes on with.
StackValue& Take(KernelContext& c) {
  c.outs[0]->object = c.in(0).object;
  return *static_cast<StackValue*>(c.in(0).object);
}

bool WantStack(InferContext& c, int i) {
  if (c.has(i) && c.type(i).is_stack()) return true;
  return c.Fail("wants a stack, found " + (c.has(i) ? c.type(i).ToString() : "nothing"));
}

}  // namespace

void DefineStackNew(OpSet& ops) {
  ops.Define("stack_new")
      .Formula("s = ()")
      .Example(R"(fn empty(x: f32[8]) -> stack<f32[8]> {
  return stack_new(x)
})")
      .Group("control")
      .Doc("An empty stack for values of one type.")
      .In("like", "only its type matters")
      .Traits(StackTraits(false))
      .Infer([](InferContext& c) {
        if (c.WantTensor(0)) c.SetResult(Type::Stack(c.type(0)));
      })
      .StopsGrad()
      .Reference("", [](KernelContext& c) {
        static_cast<StackValue*>(c.out().object)->Clear();
        return KernelStatus::kDone;
      });
}

void DefineStackPush(OpSet& ops) {
  ops.Define("stack_push")
      .Formula("s' = (s, x)")
      .Example(R"(fn keep(s: stack<f32[8]>, x: f32[8]) -> stack<f32[8]> {
  return stack_push(s, x)
})")
      .Group("control")
      .Doc("The stack with one more value.")
      .In("stack")
      .In("x", "a value of the stack's element type")
      .Traits(StackTraits(true))
      .Infer([](InferContext& c) {
        if (!WantStack(c, 0) || !c.WantTensor(1)) return;
        if (c.UnifyTypes(c.type(0).element(), c.type(1), "elements")) c.SetResult(c.type(0));
      })
      .Grad([](GradContext& c) {
        const Var stack = c.grad();
        const std::vector<Var> popped = c.emit().EmitMany("stack_pop", std::span(&stack, 1), 2);
        c.SetGrad(0, popped[0]);
        c.SetGrad(1, popped[1]);
      })
      .Reference("", [](KernelContext& c) {
        Take(c).Push(c.in(1).tensor.data, c.in(1).tensor.num_bytes());
        return KernelStatus::kDone;
      });
}

void DefineStackPop(OpSet& ops) {
  ops.Define("stack_pop")
      .Formula("s', x of s = (s', x)")
      .Example(R"(fn last(s: stack<f32[8]>) -> (stack<f32[8]>, f32[8]) {
  rest, x = stack_pop(s)
  return rest, x
})")
      .Group("control")
      .Doc(
          "The stack without the value pushed last, and that value. Popping from an empty stack "
          "is an error.")
      .In("stack")
      .Results(2)
      .Traits(StackTraits(true))
      .Infer([](InferContext& c) {
        if (!WantStack(c, 0)) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(0).element());
      })
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const Var rest = c.grad(0) ? c.grad(0) : e.Emit("stack_new", {c.result(1)});
        const Var x = c.grad(1) ? c.grad(1) : e.Emit("zeros_like", {c.result(1)});
        c.SetGrad(0, e.Emit("stack_push", {rest, x}));
      })
      .Reference("", [](KernelContext& c) {
        Take(c).Pop(c.out(1).tensor.data, c.out(1).tensor.num_bytes());
        return KernelStatus::kDone;
      });
}

}  // namespace catamaran

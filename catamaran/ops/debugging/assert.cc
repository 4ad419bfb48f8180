// ops/debugging/assert.cc
//
// assert(condition, message): stops the run where a condition does not hold.

#include <fmt/format.h>

#include "catamaran/ops/op.h"

// reference-begin
namespace catamaran::reference {

struct AssertSizes {
  int64_t count;
};

// The first element that does not hold, or -1.
inline int64_t FirstFalse(const uint8_t* condition, const AssertSizes& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    if (condition[i] == 0) return i;
  }
  return -1;
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunAssert(KernelContext& context) {
  const Slot& condition = context.in(0);
  const int64_t at = reference::FirstFalse(condition.data<const uint8_t>(), {condition.size()});
  if (at >= 0) {
    const std::string message = context.op->attr("message").AsWord();
    Fail(ErrorCode::kBadData, "assert: {}{}",
         message.empty() ? "the condition does not hold" : message,
         condition.size() == 1
             ? std::string()
             : fmt::format(" (element {} of {})", at, condition.shape().ToString()));
  }
  return KernelStatus::kDone;
}

}  // namespace

void DefineAssert(OpSet& ops) {
  OpTraits traits;
  traits.keep = true;
  traits.understands_ragged = true;
  ops.Define("assert")
      .Formula("all(condition)")
      .Example(R"(fn root(x: f32[B]) -> f32[B] {
  assert(x >= 0.0, "roots of negative numbers")
  return sqrt(x)
})")
      .Group("debugging")
      .Doc("Stops the run with an error that carries the message unless every element is true.")
      .In("condition")
      .WithAttr("message", AttrKind::kString, "")
      .Results(0)
      .Traits(traits)
      .Infer([](InferContext& c) { c.WantDType(0, DType::kBool); })
      .Sizes("AssertSizes",
             [](const KernelQuery& query, Words& words) { words << query.in[0]->size(); })
      .Reference("FirstFalse", RunAssert)
      .NoGrad("it has no result")
      .AddSample({.inputs = {Bools({2}, {true, true})}, .attrs = {{"message", "never"}}})
      .AddSample({.inputs = {Empty({0}, DType::kBool)}});
}

}  // namespace catamaran

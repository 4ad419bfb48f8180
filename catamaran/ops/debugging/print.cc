// ops/debugging/print.cc
//
// print(x, message): shows a value while the program runs.

#include <fmt/format.h>

#include <cstdio>

#include "catamaran/ops/op.h"

namespace catamaran {

namespace {

// One write, so that lines of several threads do not mix.
KernelStatus RunPrint(KernelContext& context) {
  const TensorView& view = context.in(0).tensor;
  const Tensor tensor = Tensor::Wrap(view.data, view.dtype, view.shape);
  const std::string message = context.op->attr("message").AsWord();
  const std::string line =
      fmt::format("{}{}{}\n", message, message.empty() ? "" : ": ", tensor.ToString());
  std::fwrite(line.data(), 1, line.size(), stderr);
  return KernelStatus::kDone;
}

}  // namespace

void DefinePrint(OpSet& ops) {
  OpTraits traits;
  traits.keep = true;
  traits.understands_ragged = true;
  ops.Define("print")
      .Formula("x")
      .Example(R"(fn f(x: f32[B]) -> f32[B] {
  print(x, "x is")
  return x * 2.0
})")
      .Group("debugging")
      .Doc("Writes the message and the value to standard error. Long axes are shortened.")
      .In("x")
      .WithAttr("message", AttrKind::kString, "")
      .Results(0)
      .Traits(traits)
      .Infer([](InferContext& c) { c.WantTensor(0); })
      .Reference("", RunPrint)
      .NoGrad("it has no result")
      .AddSample({.inputs = {Uniform({2, 2}, -1, 1)}, .attrs = {{"message", "sample"}}})
      .AddSample({.inputs = {Empty({0, 3})}});
}

}  // namespace catamaran

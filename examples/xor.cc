// A program written, trained and asked in C++: the exclusive or of two inputs.

#include <fmt/core.h>

#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ir/program_builder.h"
#include "catamaran/nn/standard.h"
#include "catamaran/ops/functions.h"

using namespace catamaran;

int main() {
  const auto ops = StandardOps();
  const auto builders = StandardBuilders();

  ProgramBuilder p("xor", ops, *builders);
  auto fc1 = p.Instance("fc1", "linear", {2, 16});
  auto fc2 = p.Instance("fc2", "linear", {16, 1});

  auto infer = p.Function("infer");
  {
    Var x = infer.Param("x", "f32[B, 2]");
    infer.Result("f32[B]");
    infer.Return(Reshape(Sigmoid(fc2(Tanh(fc1(x)))), "[B]"));
  }
  auto loss = p.Function("loss");
  {
    Var x = loss.Param("x", "f32[B, 2]");
    Var label = loss.Param("label", "f32[B]");
    loss.Result("f32[]");
    loss.Return(Mean(BinaryCrossEntropy(infer(x), label)));
  }
  p.Instance("train", "adam", {Call("grad", {loss}), {"lr", 0.05}});

  fmt::print("{}\n", Print(p.program()));

  const Program flat = p.Flatten();
  const auto state = State::Create(flat, /*seed=*/1);
  const auto train = Compile(flat, "train");
  const Tensor x = Tensor::From<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Tensor label = Tensor::From<float>({4}, {0, 1, 1, 0});
  for (int step = 1; step <= 300; ++step) {
    const RunResult r = train->Run(*state, {{"x", x}, {"label", label}});
    if (step % 100 == 0) fmt::print("step {}: loss {:.4f}\n", step, r.outputs[0].item<float>());
  }

  const Tensor y = Compile(flat, "infer")->Run(*state, {{"x", x}}).outputs[0];
  bool right = true;
  for (int i = 0; i < 4; ++i) {
    const auto in = x.data<float>();
    fmt::print("{} xor {}: {:.3f}\n", in[2 * i], in[2 * i + 1], y.data<float>()[i]);
    right &= (y.data<float>()[i] > 0.5f) == (label.data<float>()[i] > 0.5f);
  }
  return right ? 0 : 1;
}

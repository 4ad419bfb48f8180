#include <gtest/gtest.h>

#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::FlatProgram;

constexpr std::string_view kModel = R"(program p
param @w1 : f32[20, 64]
param @b1 : f32[64]
param @w2 : f32[64, 4]
fn net(x: f32[B, 20]) -> f32[B, 4] {
  h = relu(matmul(x, @w1) + @b1)
  noise = normal(key(), shape=[B, 64])
  return matmul(h + noise * 0.01, @w2)
}
fn loss(x: f32[B, 20], y: f32[B, 4]) -> f32[] {
  return mean(square(net(x) - y))
}
g = grad(loss)
)";

struct Setting {
  int threads;
  Schedule schedule;
};

std::vector<Tensor> RunOnce(const Program& flat, const Setting& setting) {
  const auto state = State::Create(flat, 11);
  const auto f = Compile(flat, "g", {.threads = setting.threads, .schedule = setting.schedule});
  Tensor x = Tensor::Zeros(DType::kF32, {100, 20}), y = Tensor::Zeros(DType::kF32, {100, 4});
  for (size_t i = 0; i < 2000; ++i) x.mutable_data<float>()[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < 400; ++i) y.mutable_data<float>()[i] = std::cos(static_cast<float>(i));
  return f->Run(*state, {{"x", x}, {"y", y}}).outputs;
}

TEST(Determinism, BothSchedulesAndRepeatedRunsGiveTheSameBits) {
  const Program flat = FlatProgram(kModel);
  for (const int threads : {1, 2, 4}) {
    const auto expected = RunOnce(flat, {threads, Schedule::kProgramOrder});
    ASSERT_EQ(expected.size(), 4u);
    for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
      for (int repeat = 0; repeat < 5; ++repeat) {
        const auto found = RunOnce(flat, {threads, schedule});
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(found[i].Equals(expected[i])) << i << " with " << threads << " threads";
        }
      }
    }
  }
}

// A wide program: every op that is ready may run in any order, and all meet at the end.
TEST(Determinism, WideProgramsKeepTheirBitsOnThePool) {
  std::string text = "program p\nfn f(x: f32[N]) {\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("  a{0} = sin(x * {0}.5)\n  b{0} = exp(a{0}) - x\n", i);
  }
  text += "  s0 = b0\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("  s{0} = s{1} * 0.5 + b{0}\n", i, i - 1);
  text += "  return s39\n}\n";
  const Program flat = FlatProgram(text);
  const auto state = State::Create(flat, 1);
  Tensor x = Tensor::Zeros(DType::kF32, {257});
  for (size_t i = 0; i < 257; ++i) x.mutable_data<float>()[i] = static_cast<float>(i) * 0.01f;
  const Tensor expected = Compile(flat, "f")->Run(*state, {{"x", x}}).outputs[0];
  const auto wide = Compile(flat, "f", {.threads = 4, .schedule = Schedule::kReadyOps});
  for (int repeat = 0; repeat < 200; ++repeat) {
    ASSERT_TRUE(wide->Run(*state, {{"x", x}}).outputs[0].Equals(expected));
  }
}

}  // namespace
}  // namespace catamaran

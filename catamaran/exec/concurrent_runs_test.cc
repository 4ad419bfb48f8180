// One Executable run by several threads at once: what a kernel keeps between its runs must not be
// shared by two of them.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::FlatProgram;

Tensor Waves(const Shape& shape, float step) {
  Tensor t = Tensor::Zeros(DType::kF32, shape);
  const auto n = static_cast<size_t>(shape.num_elements());
  for (size_t i = 0; i < n; ++i) {
    t.mutable_data<float>()[i] = std::sin(static_cast<float>(i) * step);
  }
  return t;
}

// Different inputs for each thread, so that memory taken from another one shows.
void ExpectTheBitsOfSingleRuns(const Program& flat, const std::vector<Shape>& shapes,
                               int pool_threads) {
  constexpr int kThreads = 4;
  const auto state = State::Create(flat, 3);
  const auto f = Compile(flat, "f", {.threads = pool_threads});
  std::vector<std::map<std::string, Tensor>> inputs(kThreads);
  std::vector<std::vector<Tensor>> expected;
  for (int t = 0; t < kThreads; ++t) {
    auto& own = inputs[static_cast<size_t>(t)];
    for (size_t i = 0; i < shapes.size(); ++i) {
      own[std::string(1, static_cast<char>('a' + i))] =
          Waves(shapes[i], 0.37f + 0.1f * static_cast<float>(t));
    }
    expected.push_back(f->Run(*state, own).outputs);
  }
  std::atomic<int> different = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int repeat = 0; repeat < 30; ++repeat) {
        const auto found = f->Run(*state, inputs[t]).outputs;
        for (size_t i = 0; i < found.size(); ++i) {
          if (!found[i].Equals(expected[t][i])) ++different;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
}

TEST(ConcurrentRuns, ConvolutionsKeepTheirBits) {
  const Program flat = FlatProgram(R"(program p
fn f(a: f32[8, 16, 14, 14], b: f32[32, 16, 3, 3], c: f32[32], d: f32[8, 32, 14, 14]) {
  y = conv2d(a, b, bias=c, padding=1)
  dx = conv2d_grad_input(d, b, padding=1, size=[14, 14])
  dw = conv2d_grad_weight(a, d, padding=1, kernel=[3, 3])
  return y, dx, dw
}
)");
  for (int threads : {1, 2}) {
    ExpectTheBitsOfSingleRuns(flat, {{8, 16, 14, 14}, {32, 16, 3, 3}, {32}, {8, 32, 14, 14}},
                              threads);
  }
}

// Channels that fill no vector, strides and groups: other code of the library, which repacks more.
TEST(ConcurrentRuns, OddConvolutionsKeepTheirBits) {
  const Program flat = FlatProgram(R"(program p
fn f(a: f32[9, 6, 14, 14], b: f32[10, 3, 5, 5], c: f32[10], d: f32[9, 10, 5, 5]) {
  y = conv2d(a, b, bias=c, stride=2, groups=2)
  dx = conv2d_grad_input(d, b, stride=2, groups=2, size=[14, 14])
  dw = conv2d_grad_weight(a, d, stride=2, groups=2, kernel=[5, 5])
  return y, dx, dw
}
)");
  for (int threads : {1, 2}) {
    ExpectTheBitsOfSingleRuns(flat, {{9, 6, 14, 14}, {10, 3, 5, 5}, {10}, {9, 10, 5, 5}}, threads);
  }
}

}  // namespace
}  // namespace catamaran

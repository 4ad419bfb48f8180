#include "catamaran/exec/shape_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "catamaran/exec/executable.h"
#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using test::F32;
using test::FlatProgram;
using test::MessageOf;
using testing::HasSubstr;

Tensor Ramp(int64_t n) {
  Tensor t = Tensor::Zeros(DType::kF32, {n});
  for (int64_t i = 0; i < n; ++i) t.mutable_data<float>()[i] = static_cast<float>(i);
  return t;
}

TEST(ShapeInstance, OneForEachBindingInABoundedCache) {
  const Program flat = FlatProgram("program p\nfn f(x: f32[N]) { return x + x }\n");
  const auto f = Compile(flat, "f", {.max_shape_instances = 3});
  const auto state = State::Create(flat, 1);
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int64_t n = 0; n < 10; ++n) {
      const auto out = f->Run(*state, {{"x", Ramp(n)}}).outputs;
      ASSERT_EQ(out[0].shape(), Shape({n}));
      if (n > 1) {
        EXPECT_EQ(out[0].data<float>()[n - 1], static_cast<float>(2 * (n - 1)));
      }
      EXPECT_LE(f->num_shape_instances(), 3u);
    }
  }
  EXPECT_EQ(f->num_shape_instances(), 3u);
}

TEST(ShapeInstance, AnEvictedInstanceOutlivesTheRunsThatUseIt) {
  const Program flat = FlatProgram("program p\nfn f(x: f32[N]) { return x + x }\n");
  const auto f = Compile(flat, "f", {.max_shape_instances = 1});
  const auto state = State::Create(flat, 1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int64_t n = 1; n <= 4; ++n) {
    threads.emplace_back([&, n] {
      const Tensor x = Ramp(n);
      for (int i = 0; i < 500; ++i) {
        const auto out = f->Run(*state, {{"x", x}}).outputs;
        wrong += out[0].data<float>()[n - 1] != static_cast<float>(2 * (n - 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ShapeInstance, ACheckThatDoesNotHoldNamesLineAndBothNumbers) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[N], y: f32[M]) {
  return x + x,
         reshape(x, [M])
}
)");
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  f->Run(*state, {{"x", Ramp(3)}, {"y", Ramp(3)}});
  const std::string message = MessageOf([&] { f->Run(*state, {{"x", Ramp(3)}, {"y", Ramp(4)}}); });
  EXPECT_THAT(message, testing::StartsWith("test.ctm:4: reshape"));
  EXPECT_THAT(message, HasSubstr("N is 3 and M is 4"));
}

TEST(ShapeInstance, MemoryIsUsedAgainInProgramOrder) {
  std::string text = "program p\nfn f(x: f32[N]) {\n  y0 = test_negate(x)\n";
  for (int i = 1; i < 100; ++i) text += fmt::format("  y{} = test_negate(y{})\n", i, i - 1);
  text += "  return y99\n}\n";
  const Program flat = FlatProgram(text);
  const Tensor x = Ramp(1024);
  const FeedValue feeds[] = {x};
  const auto serial = Compile(flat, "f");
  const auto ready = Compile(flat, "f", {.threads = 2, .schedule = Schedule::kReadyOps});
  EXPECT_LE(serial->ArenaBytes(feeds), 3u * 4096);
  EXPECT_GE(ready->ArenaBytes(feeds), 99u * 4096);
}

// Each value is used long after it was made, across loops and branches that reuse memory.
TEST(ShapeInstance, ValuesInUseAreNotOverwritten) {
  const Program flat = FlatProgram(R"(program p
fn f(x: f32[N], n: i64[]) {
  a = x + 1.0
  b = a * 2.0
  flat = reshape(b, [N])
  c = for i in range(n) with (c = a) {
    t = c + x
    u = t * 1.0
    v = if i < 2 { yield u + b } else { w = u + 1.0
      yield w + flat }
    yield v
  }
  d = c + a
  e = test_negate(b)
  return d, e, flat, c
}
)");
  const auto state = State::Create(flat, 1);
  const Tensor x = Ramp(33);
  std::vector<std::vector<Tensor>> all;
  for (const Schedule schedule : {Schedule::kProgramOrder, Schedule::kReadyOps}) {
    const auto f = Compile(flat, "f", {.threads = 2, .schedule = schedule});
    all.push_back(f->Run(*state, {{"x", x}, {"n", Tensor::Scalar<int64_t>(4)}}).outputs);
  }
  for (int64_t i = 0; i < 33; ++i) {
    const auto v = static_cast<float>(i);
    const float a = v + 1, b = a * 2;
    float c = a;
    for (int k = 0; k < 4; ++k) c = k < 2 ? c + v + b : c + v + 1 + b;
    for (const auto& out : all) {
      ASSERT_EQ(out[0].data<float>()[i], c + a);
      ASSERT_EQ(out[1].data<float>()[i], -b);
      ASSERT_EQ(out[2].data<float>()[i], b);
      ASSERT_EQ(out[3].data<float>()[i], c);
    }
  }
}

// --- Ragged arguments.

constexpr std::string_view kRagged = R"(program p
fn f(x: f32[B, *T], w: f32[B, *T]) {
  y = x * w + x
  return y + 1.0
}
)";

TEST(Ragged, TotalsAreNotPartOfTheKey) {
  const Program flat = FlatProgram(kRagged);
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  for (const int64_t total : {5, 16, 3, 0, 12}) {
    const Tensor x = Ramp(total);
    const Tensor offsets = Tensor::From<int64_t>({3}, {0, total / 2, total});
    const RunResult result =
        f->Run(*state, {{"x", x}, {"x.offsets", offsets}, {"w", x}, {"w.offsets", offsets}});
    ASSERT_EQ(result.outputs[0].shape(), Shape({total}));
    EXPECT_TRUE(result.offsets[0].Equals(offsets));
    for (int64_t i = 0; i < total; ++i) {
      EXPECT_EQ(result.outputs[0].data<float>()[i], static_cast<float>(i * i + i + 1));
    }
  }
  EXPECT_EQ(f->num_shape_instances(), 1u);
  const Tensor x = Ramp(17);
  const Tensor offsets = Tensor::From<int64_t>({3}, {0, 1, 17});
  f->Run(*state, {{"x", x}, {"x.offsets", offsets}, {"w", x}});
  EXPECT_EQ(f->num_shape_instances(), 1u) << "the larger one stands in for the smaller";
}

TEST(Ragged, WrongOffsetsAreExplained) {
  const Program flat = FlatProgram(kRagged);
  const auto f = Compile(flat, "f");
  const auto state = State::Create(flat, 1);
  const Tensor x = Ramp(4);
  const auto message = [&](const Tensor& a, const Tensor& b) {
    return MessageOf([&] {
      f->Run(*state, {{"x", x}, {"x.offsets", a}, {"w", x}, {"w.offsets", b}});
    });
  };
  const Tensor good = Tensor::From<int64_t>({3}, {0, 2, 4});
  EXPECT_EQ(message(good, good), "no error");
  EXPECT_THAT(message(Tensor::From<int64_t>({3}, {0, 3, 2}), good), HasSubstr("must rise"));
  EXPECT_THAT(message(Tensor::From<int64_t>({3}, {1, 2, 4}), good), HasSubstr("must rise"));
  EXPECT_THAT(message(good, Tensor::From<int64_t>({3}, {0, 1, 4})),
              HasSubstr("differ from those of another argument with *T"));
  EXPECT_THAT(message(good, Tensor::From<int64_t>({4}, {0, 1, 2, 4})),
              HasSubstr("B is 3 here and 2 in argument x"));
  EXPECT_THAT(MessageOf([&] { f->Run(*state, {{"x", x}, {"w", x}}); }), HasSubstr("needs offsets"));
}

}  // namespace
}  // namespace catamaran

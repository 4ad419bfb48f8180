// Sizes that only a kernel can tell, with two ops made for these tests: `keep_positive(x)` leaves
// out elements that are not, `first_of_each(x, count)` shortens each sequence.

#include <gtest/gtest.h>

#include "catamaran/exec/test_program.h"

namespace catamaran {
namespace {

using namespace test;

KernelStatus KeepPositive(KernelContext& c) {
  int64_t kept = 0;
  for (int64_t i = 0; i < c.in(0).size(); ++i) {
    const float x = c.in(0).data<float>()[i];
    if (x > 0) c.out().data<float>()[kept++] = x;
  }
  c.DecideSize(kept);
  return KernelStatus::kDone;
}

KernelStatus FirstOfEach(KernelContext& c) {
  const Slot& x = c.in(0);
  const int64_t count = c.op->attr("count").AsInt();
  c.new_offsets[0] = 0;
  int64_t end = 0;
  for (int64_t row = 0; row < x.num_rows; ++row) {
    for (int64_t i = x.offsets[row]; i < std::min(x.offsets[row] + count, x.offsets[row + 1]);
         ++i) {
      c.out().data<float>()[end++] = x.data<float>()[i];
    }
    c.new_offsets[row + 1] = end;
  }
  c.DecideSize(end);
  return KernelStatus::kDone;
}

std::shared_ptr<OpSet> OpsThatDecide() {
  auto ops = Ops();
  ops->Define("keep_positive")
      .In("x")
      .Infer([](InferContext& c) {
        if (c.WantRank(0, 1)) c.SetResult(Type::Tensor(DType::kF32, {c.FreshDim()}));
      })
      .SizeBound([](const Op& op) { return op.operand(0)->type.dim(0); })
      .NoGrad("a test needs none")
      .Reference("", &KeepPositive);
  OpTraits ragged;
  ragged.understands_ragged = true;
  ops->Define("first_of_each")
      .In("x")
      .RequiredAttr("count", AttrKind::kInt)
      .Traits(ragged)
      .Infer([](InferContext& c) {
        c.SetResult(Type::Tensor(DType::kF32, {c.type(0).dim(0), c.FreshDim()}, 1));
      })
      .SizeBound([](const Op& op) { return op.operand(0)->type.StorageDims()[0]; })
      .NoGrad("a test needs none")
      .Reference("", &FirstOfEach);
  return ops;
}

struct Compiled {
  Compiled(std::string_view text, CompileOptions options = {})
      : program(FlatProgram(text, OpsThatDecide())),
        state(State::Create(program, 1)),
        executable(Compile(program, "f", options)) {}
  RunResult Run(const std::map<std::string, Tensor>& feeds) {
    return executable->Run(*state, feeds);
  }
  Program program;
  std::shared_ptr<State> state;
  std::shared_ptr<const Executable> executable;
};

CompileOptions ReadyOps() {
  CompileOptions options;
  options.schedule = Schedule::kReadyOps;
  options.threads = 3;
  return options;
}

TEST(DecidedSizes, TheResultIsAsLargeAsTheKernelSays) {
  Compiled f("program p\nfn f(x: f32[N]) { return keep_positive(x) * 2.0 }\n");
  for (int round = 0; round < 3; ++round) {
    RunResult r = f.Run({{"x", F32({5}, {1, -1, 2, -2, 3})}});
    EXPECT_TRUE(r.outputs[0].Equals(F32({3}, {2, 4, 6}))) << r.outputs[0];
    r = f.Run({{"x", F32({5}, {-1, -1, 2, -2, -3})}});
    EXPECT_TRUE(r.outputs[0].Equals(F32({1}, {4}))) << r.outputs[0];
    r = f.Run({{"x", F32({5}, {-1, -1, -2, -2, -3})}});
    EXPECT_EQ(r.outputs[0].shape(), Shape({0}));
    r = f.Run({{"x", F32({5}, {1, 2, 3, 4, 5})}});
    EXPECT_TRUE(r.outputs[0].Equals(F32({5}, {2, 4, 6, 8, 10}))) << r.outputs[0];
  }
}

TEST(DecidedSizes, WhatDependsOnTheSizeSeesIt) {
  const std::string_view text = R"(program p
fn f(x: f32[N], y: f32[M]) {
  a = keep_positive(x)
  b = keep_positive(y)
  all = concat(a, b, axis=0)
  outer = reshape(a, [-1, 1]) * reshape(b, [1, -1])
  return sum(all), mean(a), outer, max(all, axes=[0])
}
)";
  for (const CompileOptions& options : {CompileOptions{}, ReadyOps()}) {
    Compiled f(text, options);
    for (int round = 0; round < 20; ++round) {
      RunResult r = f.Run({{"x", F32({4}, {1, -1, 2, -2})}, {"y", F32({3}, {-7, 3, 4})}});
      EXPECT_EQ(r.outputs[0].item<float>(), 10);
      EXPECT_EQ(r.outputs[1].item<float>(), 1.5);
      EXPECT_TRUE(r.outputs[2].Equals(F32({2, 2}, {3, 4, 6, 8}))) << r.outputs[2];
      EXPECT_EQ(r.outputs[3].item<float>(), 4);
      r = f.Run({{"x", F32({4}, {5, -1, -2, -2})}, {"y", F32({3}, {7, 3, 4})}});
      EXPECT_EQ(r.outputs[0].item<float>(), 19);
      EXPECT_EQ(r.outputs[1].item<float>(), 5);
      EXPECT_TRUE(r.outputs[2].Equals(F32({1, 3}, {35, 15, 20}))) << r.outputs[2];
    }
  }
}

TEST(DecidedSizes, ChecksThatWaitForTheSizeNameTheLine) {
  Compiled f(
      "program p\nfn f(x: f32[N], y: f32[N]) {\n"
      "  return keep_positive(x) +\n    keep_positive(y)\n}\n");
  const RunResult r = f.Run({{"x", F32({2}, {1, -1})}, {"y", F32({2}, {-1, 5})}});
  EXPECT_TRUE(r.outputs[0].Equals(F32({1}, {6}))) << r.outputs[0];
  const std::string message = MessageOf([&] {
    f.Run({{"x", F32({2}, {1, -1})}, {"y", F32({2}, {4, 5})}});
  });
  EXPECT_NE(message.find("test.ctm:3: "), std::string::npos) << message;
  EXPECT_NE(message.find("is 1 and"), std::string::npos) << message;
  // The sizes of the run that failed are not taken for those of kernels.
  const RunResult after = f.Run({{"x", F32({2}, {1, 2})}, {"y", F32({2}, {4, 5})}});
  EXPECT_TRUE(after.outputs[0].Equals(F32({2}, {5, 7}))) << after.outputs[0];
}

TEST(DecidedSizes, RaggedResultsHaveOffsetsOfTheirOwn) {
  const std::string_view text = R"(program p
fn f(x: f32[B, *T]) {
  cut = first_of_each(x, count=2)
  return cut * 10.0, ragged_pool(x=cut, pool=sum), ragged_pool(x=x, pool=sum)
}
)";
  for (const CompileOptions& options : {CompileOptions{}, ReadyOps()}) {
    Compiled f(text, options);
    for (int round = 0; round < 3; ++round) {
      RunResult r = f.Run({{"x", F32({6}, {1, 2, 3, 4, 5, 6})},
                           {"x.offsets", Tensor::From<int64_t>({4}, {{0, 3, 3, 6}})}});
      EXPECT_TRUE(r.outputs[0].Equals(F32({4}, {10, 20, 40, 50}))) << r.outputs[0];
      EXPECT_TRUE(r.offsets[0].Equals(Tensor::From<int64_t>({4}, {{0, 2, 2, 4}}))) << r.offsets[0];
      EXPECT_TRUE(r.outputs[1].Equals(F32({3}, {3, 0, 9}))) << r.outputs[1];
      EXPECT_TRUE(r.outputs[2].Equals(F32({3}, {6, 0, 15}))) << r.outputs[2];
      r = f.Run(
          {{"x", F32({3}, {1, 2, 3})}, {"x.offsets", Tensor::From<int64_t>({4}, {{0, 1, 2, 3}})}});
      EXPECT_TRUE(r.outputs[0].Equals(F32({3}, {10, 20, 30}))) << r.outputs[0];
      EXPECT_TRUE(r.outputs[1].Equals(F32({3}, {1, 2, 3}))) << r.outputs[1];
    }
  }
}

TEST(DecidedSizes, ChangeFromIterationToIteration) {
  Compiled f(R"(program p
fn f(x: f32[N], n: i64[]) {
  total = for i in range(n) with (total = 0.0) {
    kept = keep_positive(x - cast(i, f32))
    yield total + sum(kept) + mean(kept)
  }
  return total
}
)");
  // 1 2 3, then 1 2, then 1.
  const RunResult r = f.Run({{"x", F32({4}, {1, 2, 3, -9})}, {"n", Tensor::Scalar<int64_t>(3)}});
  EXPECT_EQ(r.outputs[0].item<float>(), 6 + 2 + 3 + 1.5f + 1 + 1);
}

TEST(DecidedSizes, BuffersOfTheCallerMustHoldTheMost) {
  Compiled f("program p\nfn f(x: f32[N]) { return keep_positive(x) }\n");
  const Tensor x = F32({4}, {1, -1, 2, -2});
  float out[4] = {};
  Shape shape;
  FetchBuffer fetch{.data = out, .capacity = sizeof out, .shape = {}, .final_shape = &shape};
  const FeedValue feed(x);
  f.executable->Run(*f.state, std::span(&feed, 1), std::span(&fetch, 1));
  EXPECT_EQ(fetch.shape, Shape({4}));
  EXPECT_EQ(shape, Shape({2}));
  EXPECT_EQ(out[1], 2);
  fetch.capacity = 2 * sizeof(float);
  EXPECT_NE(MessageOf([&] {
              f.executable->Run(*f.state, std::span(&feed, 1), std::span(&fetch, 1));
            }).find("16 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace catamaran

// Attention against what it stands for, composed of other ops, and its kernels against each other
// at sizes that the samples do not reach.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"

namespace catamaran {
namespace {

// A function under construction whose arguments are given as tensors.
class Case {
 public:
  Case() : program_("test", TestOps()) {
    auto owned = std::make_unique<Function>();
    owned->name = "f";
    owned->typed = true;
    function_ = program_.items.Add(std::move(owned));
    emit_ = std::make_unique<Emitter>(program_, *function_, function_->body());
  }
  Var Arg(const Tensor& tensor) {
    std::vector<Dim> dims;
    for (int64_t d : tensor.shape()) dims.push_back(d);
    arguments_.push_back({tensor});
    return emit_->Wrap(function_->body().AddArg(fmt::format("a{}", arguments_.size()),
                                                Type::Tensor(tensor.dtype(), std::move(dims))));
  }
  Emitter& emit() { return *emit_; }
  std::vector<Tensor> Run(const std::vector<Var>& results, const RunnerOptions& options) {
    if (!returned_) {
      std::vector<Value*> values;
      for (const Var& var : results) values.push_back(var.value());
      emit_->EmitOp(program_.ops().Get("return"), {values, {}, {}, {}, 0}, {});
      returned_ = true;
    }
    return RunStraight(*function_, arguments_, options);
  }

 private:
  Program program_;
  Function* function_;
  std::unique_ptr<Emitter> emit_;
  std::vector<RunnerValue> arguments_;
  bool returned_ = false;
};

RunnerOptions With(Isa isa, const char* kernel, ThreadPool* pool = nullptr) {
  RunnerOptions options;
  options.isa = isa;
  options.kernel = kernel;
  options.pool = pool;
  return options;
}

struct Sizes {
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;
  bool causal;
};

// softmax(q k^T * scale + mask) v, of the ops that it is named after. Queries that see nothing are
// not defined there.
std::vector<Tensor> Composed(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor* mask,
                             const Sizes& s) {
  Case c;
  Emitter& e = c.emit();
  const Var q_in = c.Arg(q), k_in = c.Arg(k), v_in = c.Arg(v);
  // Heads that share become an axis of their own, over which k and v broadcast.
  const int64_t group = s.heads / s.kv_heads;
  const auto grouped = [&](Var x, int64_t heads, int64_t share, int64_t rows, int64_t width) {
    return e.Emit("reshape", {x}, {{"shape", Attr::Ints({s.batch, heads, share, rows, width})}});
  };
  Var scores = e.Emit("matmul",
                      {grouped(q_in, s.kv_heads, group, s.queries, s.width),
                       grouped(k_in, s.kv_heads, 1, s.keys, s.width)},
                      {{"transpose_b", true}});
  scores =
      e.Emit("reshape", {scores}, {{"shape", Attr::Ints({s.batch, s.heads, s.queries, s.keys})}});
  scores = scores * (1 / std::sqrt(static_cast<double>(s.width)));
  if (mask != nullptr && mask->dtype() != DType::kBool) scores = scores + c.Arg(*mask);
  const Var blind = e.Constant(-INFINITY, DType::kF32);
  if (mask != nullptr && mask->dtype() == DType::kBool) {
    scores = e.Emit("where", {c.Arg(*mask), scores, blind});
  }
  if (s.causal) {
    const Var seen = e.Emit("causal_mask", std::initializer_list<Var>{},
                            {{"queries", s.queries}, {"keys", s.keys}});
    scores = e.Emit("where", {seen, scores, blind});
  }
  const Var weights = grouped(e.Emit("softmax", {scores}), s.kv_heads, group, s.queries, s.keys);
  const Var y = e.Emit("matmul", {weights, grouped(v_in, s.kv_heads, 1, s.keys, s.value_width)});
  return c.Run({e.Emit("reshape", {y},
                       {{"shape", Attr::Ints({s.batch, s.heads, s.queries, s.value_width})}})},
               With(Isa::kPlain, "reference"));
}

// Runs attention and its gradient with every kernel; y against what it is composed of, everything
// against the reference.
void Check(const Sizes& s, const Tensor* mask = nullptr, double range = 2) {
  SCOPED_TRACE(fmt::format("{} {} {} {} {} {} {} {}", s.batch, s.heads, s.kv_heads, s.queries,
                           s.keys, s.width, s.value_width, s.causal));
  const Tensor q = Uniform({s.batch, s.heads, s.queries, s.width}, -range, range, 1);
  const Tensor k = Uniform({s.batch, s.kv_heads, s.keys, s.width}, -range, range, 2);
  const Tensor v = Uniform({s.batch, s.kv_heads, s.keys, s.value_width}, -1, 1, 3);
  const Tensor dy = Uniform({s.batch, s.heads, s.queries, s.value_width}, -1, 1, 4);
  Case c;
  std::vector<Var> operands = {c.Arg(q), c.Arg(k), c.Arg(v)};
  const Var mask_in = mask ? c.Arg(*mask) : Var();
  const std::vector<NamedAttr> attrs = {{"causal", s.causal}};
  operands.push_back(mask_in);
  std::vector<Var> results = c.emit().EmitMany("attention", operands, 2, attrs);
  operands.pop_back();
  for (const Var& var : {results[0], results[1], c.Arg(dy), mask_in}) operands.push_back(var);
  for (const Var& var : c.emit().EmitMany("attention_grad", operands, 3, attrs)) {
    results.push_back(var);
  }
  const std::vector<Tensor> wanted = c.Run(results, With(Isa::kPlain, "reference"));
  const std::vector<Tensor> composed = Composed(q, k, v, mask, s);
  ThreadPool three(3);
  for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
    const std::vector<Tensor> got = c.Run(results, With(static_cast<Isa>(isa), "tiled"));
    EXPECT_TRUE(AllClose(got[0], composed[0], 1e-4, range * 1e-5, true)) << "y, isa " << isa;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(AllClose(got[i], wanted[i], 1e-4, range * 1e-5, true))
          << "result " << i << ", isa " << isa;
    }
    const auto threads = c.Run(results, With(static_cast<Isa>(isa), "tiled", &three));
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(threads[i].Equals(got[i])) << "threads change the bits of result " << i;
    }
  }
}

TEST(Attention, IsSoftmaxOfTheScoresTimesTheValues) {
  Check({2, 3, 3, 65, 65, 16, 16, false});
  Check({1, 2, 2, 130, 97, 33, 20, false});
  Check({1, 2, 2, 64, 192, 64, 64, false});
  Check({3, 2, 2, 1, 200, 32, 32, false});
  Check({1, 1, 1, 17, 1, 5, 3, false});
  Check({1, 6, 2, 40, 50, 8, 8, false});
}

TEST(Attention, CausalQueriesDoNotLookAhead) {
  Check({1, 2, 2, 65, 65, 16, 16, true});
  Check({1, 2, 1, 200, 200, 32, 32, true});
  Check({1, 2, 2, 70, 300, 24, 24, true});
  Check({2, 1, 1, 1, 99, 16, 16, true});
}

TEST(Attention, TakesMasksOfEveryShape) {
  const auto some = [](const Shape& shape) {
    const Tensor numbers = RandomInts(shape, 0, 4, DType::kI64, 7);
    Tensor mask = Tensor::Allocate(DType::kBool, shape);
    const int64_t last = shape[shape.rank() - 1];
    for (int64_t i = 0; i < mask.num_elements(); ++i) {
      // The first key is always seen.
      mask.mutable_data<bool>()[static_cast<size_t>(i)] =
          i % last == 0 || numbers.data<int64_t>()[static_cast<size_t>(i)] != 0;
    }
    return mask;
  };
  for (const Shape& shape : {Shape{2, 3, 70, 110}, Shape{70, 110}, Shape{2, 1, 1, 110},
                             Shape{3, 70, 110}, Shape{2, 1, 70, 110}}) {
    SCOPED_TRACE(shape.ToString());
    const Tensor keep = some(shape), add = Uniform(shape, -3, 3, 5);
    for (bool causal : {false, true}) {
      Check({2, 3, 3, 70, 110, 16, 16, causal}, &keep);
      Check({2, 3, 3, 70, 110, 16, 16, causal}, &add);
    }
  }
  const Tensor rows = Uniform({70, 1}, -3, 3, 5);
  Check({2, 3, 3, 70, 110, 16, 16, false}, &rows);
}

// Scores of some thousands, where f32 leaves three digits behind the point.
TEST(Attention, HugeScoresDoNotOverflow) { Check({1, 2, 2, 40, 130, 16, 16, false}, nullptr, 50); }

TEST(Attention, WhatSeesNothingIsZero) {
  KernelBench bench;
  for (const char* kernel : {"tiled", "reference"}) {
    bench.kernel = kernel;
    // Two queries stand before the only key.
    Op* op = bench.Run("attention",
                       {bench.Arg(Uniform({1, 3, 4}, -1, 1)), bench.Arg(Uniform({1, 1, 4}, -1, 1)),
                        bench.Arg(Floats({1, 1, 2}, {5, 7}))},
                       {}, {{"causal", true}});
    const auto y = bench.tensor(op->result(0)).data<float>();
    const auto lse = bench.tensor(op->result(1)).data<float>();
    const float wanted[] = {0, 0, 0, 0, 5, 7};
    for (size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(y[i], wanted[i]) << kernel << " " << i;
    EXPECT_EQ(lse[0], -INFINITY);
    EXPECT_EQ(lse[1], -INFINITY);
    EXPECT_TRUE(std::isfinite(lse[2]));
    Op* grad = bench.Run("attention_grad",
                         {op->operand(0), op->operand(1), op->operand(2), op->result(0),
                          op->result(1), bench.Arg(Uniform({1, 3, 2}, 1, 2))},
                         {}, {{"causal", true}});
    const auto dq = bench.tensor(grad->result(0)).data<float>();
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(dq[i], 0) << kernel << " " << i;
    const auto dv = bench.tensor(grad->result(2)).data<float>();
    const auto dy = Uniform({1, 3, 2}, 1, 2);
    for (size_t i = 0; i < 2; ++i) EXPECT_FLOAT_EQ(dv[i], dy.data<float>()[4 + i]) << kernel;
  }
}

TEST(Attention, MistakesAreNamed) {
  KernelBench bench;
  const auto message = [&](std::vector<Tensor> operands) {
    std::vector<Value*> values;
    for (Tensor& tensor : operands) values.push_back(bench.Arg(std::move(tensor)));
    try {
      bench.Run("attention", values);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto some = [](const Shape& shape) { return Uniform(shape, -1, 1); };
  has(message({some({1, 3, 4, 8}), some({1, 2, 4, 8}), some({1, 2, 4, 8})}),
      "3 heads of q cannot share 2 heads of k and v");
  has(message({some({1, 4, 8}), some({1, 4, 7}), some({1, 4, 7})}), "widths of q and k");
  has(message({some({1, 4, 8}), some({1, 5, 8}), some({1, 4, 8})}), "rows of k and v");
  has(message({some({4, 8}), some({4, 8}), some({4, 8})}), "wants q, k and v alike");
  has(message({some({1, 4, 8}), some({1, 5, 8}), some({1, 5, 8}), some({4, 4})}),
      "dimensions of the scores and the mask differ: 5 and 4");
  has(message({some({1, 4, 8}), some({1, 5, 8}), some({1, 5, 8}), RandomInts({4, 5}, 0, 2)}),
      "a mask is bool");
}

}  // namespace
}  // namespace catamaran

// Bags of embeddings: their sparse gradients, narrow parameters, and mistakes; and hashes that may
// be stored.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/base/hash.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ir/grad_context.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

// f(w, ids, weights?) = embedding_bag, and with dy as a further parameter its gradient at w as a
// dense tensor.
class BagFunction {
 public:
  BagFunction(const Type& w, const Type& ids, const Type* weights, std::vector<NamedAttr> attrs,
              bool gradient)
      : program_("test", TestOps()) {
    auto owned = std::make_unique<Function>();
    owned->name = "f";
    owned->typed = true;
    function_ = program_.items.Add(std::move(owned));
    std::vector<Value*> operands = {Param("w", w), Param("ids", ids)};
    if (weights) operands.push_back(Param("weights", *weights));
    emit_ = std::make_unique<Emitter>(program_, *function_, function_->body());
    Op* op = emit_->EmitOp(program_.ops().Get("embedding_bag"),
                           {operands, std::move(attrs), {}, {}, 1}, {});
    Value* result = op->result();
    if (gradient) {
      const Var dy = emit_->Wrap(Param("dy", result->type));
      GradContext context(*emit_, *op, {dy}, {true, false, false});
      op->def().grad(context);
      result = emit_->Emit("rows_to_dense", {context.grads()[0], emit_->Wrap(operands[0])}).value();
    }
    emit_->EmitOp(program_.ops().Get("return"), {{result}, {}, {}, {}, 0}, {});
  }

  Tensor Run(const std::vector<RunnerValue>& arguments, ThreadPool* pool = nullptr) {
    return RunStraight(*function_, arguments, {DetectIsa(), "", pool}).at(0);
  }

 private:
  Value* Param(const char* name, const Type& type) {
    function_->order.push_back(false);
    return function_->body().AddArg(name, type);
  }

  Program program_;
  Function* function_ = nullptr;
  std::unique_ptr<Emitter> emit_;
};

Type Dense(DType dtype, std::vector<Dim> dims) { return Type::Tensor(dtype, std::move(dims)); }

double WeightedSum(const Tensor& y, const Tensor& dy) {
  double sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(y.num_elements()); ++i) {
    sum += y.data<double>()[i] * dy.data<double>()[i];
  }
  return sum;
}

TEST(EmbeddingBag, RowsAreTheGradientOfFiniteDifferences) {
  const Tensor w = Cast(Uniform({5, 3}, -1, 1), DType::kF64);
  const Tensor dy = Cast(Uniform({2, 3}, -1, 1, 2), DType::kF64);
  const Tensor by = Cast(Uniform({2, 4}, 0.5, 1.5, 3), DType::kF64);
  const Tensor dense_ids = Ints({2, 4}, {4, 1, -1, 1, -1, 0, 2, 4});
  const Type w_type = Dense(DType::kF64, {5, 3});
  const Type weights_type = Dense(DType::kF64, {2, 4});
  const Type ids_type = Dense(DType::kI64, {2, 4});
  for (const char* pool : {"sum", "mean", "sqrt", "max"}) {
    for (const bool weighted : {false, true}) {
      if (weighted && std::string(pool) == "max") continue;
      SCOPED_TRACE(std::string(pool) + (weighted ? " weighted" : ""));
      const std::vector<NamedAttr> attrs = {{"pool", Attr::Word(pool)}, {"padding", -1}};
      const Type* weights = weighted ? &weights_type : nullptr;
      BagFunction forward(w_type, ids_type, weights, attrs, false);
      BagFunction backward(w_type, ids_type, weights, attrs, true);
      const auto arguments = [&](const Tensor& at) {
        std::vector<RunnerValue> list = {{at}, {dense_ids}};
        if (weighted) list.push_back({by});
        return list;
      };
      std::vector<RunnerValue> with_dy = arguments(w);
      with_dy.push_back({dy});
      const Tensor got = backward.Run(with_dy);
      for (size_t i = 0; i < 15; ++i) {
        Tensor up = w.Clone(), down = w.Clone();
        up.mutable_data<double>()[i] += 1e-6;
        down.mutable_data<double>()[i] -= 1e-6;
        const double numeric = (WeightedSum(forward.Run(arguments(up)), dy) -
                                WeightedSum(forward.Run(arguments(down)), dy)) /
                               2e-6;
        EXPECT_NEAR(got.data<double>()[i], numeric, 1e-6) << i;
      }
    }
  }
}

TEST(EmbeddingBag, PaddingTouchesNoRow) {
  KernelBench bench;
  // As the gradient does it: the ids that are left, with their bags.
  Op* rows = bench.Run("embedding_bag_rows",
                       {bench.Arg(Ints({3}, {4, 1, 2}), {2, 0, 1}),
                        bench.Arg(Floats({3, 2}, {1, 2, 9, 9, 3, 4})), nullptr},
                       {}, {{"pool", Attr::Word("mean")}});
  EXPECT_EQ(rows->result()->type.ToString(), "rows<f32[2]>");
  Op* dense = bench.Run("rows_to_dense", {rows->result(), bench.Arg(Uniform({5, 2}, -1, 1))});
  EXPECT_TRUE(
      bench.tensor(dense->result()).Equals(Floats({5, 2}, {0, 0, 0.5, 1, 3, 4, 0, 0, 0.5, 1})))
      << bench.tensor(dense->result());
}

TEST(EmbeddingBag, NarrowParametersAreAddedUpInSingle) {
  // 2048 + 1 is no f16: a sum in f16 would stay at 2048.
  Tensor w = Cast(Floats({2, 1}, {2048, 1}), DType::kF16);
  BagFunction bag(Dense(DType::kF16, {2, 1}), Dense(DType::kI64, {1, 5}), nullptr, {}, false);
  const Tensor y = bag.Run({{w}, {Ints({1, 5}, {0, 1, 1, 1, 1})}});
  EXPECT_EQ(y.dtype(), DType::kF16);
  EXPECT_EQ(Cast(y, DType::kF32).data<float>()[0], 2052);
}

TEST(EmbeddingBag, AllWidthsAndThreadsAgreeWithTheReference) {
  ThreadPool pool(3);
  for (int64_t width = 1; width < 200; width += width < 40 ? 1 : 13) {
    const Tensor w = Uniform({30, width}, -1, 1);
    const Tensor ids = RandomInts({700, 3}, 0, 30);
    BagFunction bag(Dense(DType::kF32, {30, width}), Dense(DType::kI64, {700, 3}), nullptr, {},
                    false);
    const Tensor alone = bag.Run({{w}, {ids}});
    EXPECT_TRUE(alone.Equals(bag.Run({{w}, {ids}}, &pool))) << width;
    for (size_t b = 0; b < 700; b += 99) {
      for (size_t i = 0; i < static_cast<size_t>(width); ++i) {
        float sum = 0;
        for (size_t n = 0; n < 3; ++n) {
          const auto row = static_cast<size_t>(ids.data<int64_t>()[b * 3 + n]);
          sum += w.data<float>()[row * static_cast<size_t>(width) + i];
        }
        EXPECT_EQ(alone.data<float>()[b * static_cast<size_t>(width) + i], sum);
      }
    }
  }
}

std::string ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(EmbeddingBag, MistakesAreNamed) {
  BagFunction bag(Dense(DType::kF32, {4, 2}), Dense(DType::kI32, {1, 2}), nullptr, {}, false);
  EXPECT_THAT(ErrorOf([&] {
                bag.Run({{Uniform({4, 2}, -1, 1)}, {Ints({1, 2}, {3, -2}, DType::kI32)}});
              }),
              HasSubstr("id -2 at position 1 is outside of the 4 rows"));
  EXPECT_THAT(
      ErrorOf([&] {
        BagFunction(Dense(DType::kBF16, {4, 2}), Dense(DType::kI64, {1, 2}), nullptr, {}, true);
      }),
      HasSubstr("a sparse gradient is f32 or f64, found bf16"));
  const Type weights = Dense(DType::kF32, {1, 2});
  EXPECT_THAT(ErrorOf([&] {
                BagFunction(Dense(DType::kF32, {4, 2}), Dense(DType::kI64, {1, 2}), &weights,
                            {{"pool", Attr::Word("max")}}, false);
              }),
              HasSubstr("weights mean nothing with pool=max"));
}

TEST(Embedding, CopiesBitForBit) {
  KernelBench bench;
  const Tensor w = Floats({2, 3}, {-0.0, NAN, 1e-45, 1, 2, 3});
  Op* y = bench.Run("embedding", {bench.Arg(w), bench.Arg(Ints({1}, {0}))});
  EXPECT_EQ(0, std::memcmp(bench.tensor(y->result()).raw_data(), w.raw_data(), 12));
}

TEST(HashIds, AreTheSameForEver) {
  KernelBench bench;
  Op* plain = bench.Run("hash_ids", {bench.Arg(Ints({4}, {0, 1, 2, -1}))});
  const auto y = bench.tensor(plain->result()).data<uint64_t>();
  // Frozen: tables and programs keep these.
  EXPECT_EQ(y[0], HashCombine(Mix64(0), 0));
  EXPECT_EQ(y[0], 0xd700d151a7b15f33u);
  EXPECT_EQ(y[1], 0x2066e9838e61eddbu);
  EXPECT_EQ(y[3], 0x7c1d40a5fd8f6d40u);
  Op* salted = bench.Run("hash_ids", {bench.Arg(Ints({1}, {1}))}, {}, {{"salt", 7}});
  EXPECT_EQ(bench.tensor(salted->result()).data<uint64_t>()[0], 0xfc9af3adee3f8acdu);
  Op* narrow = bench.Run("hash_ids", {bench.Arg(Ints({2}, {2, -1}, DType::kI32))});
  EXPECT_EQ(bench.tensor(narrow->result()).data<uint64_t>()[0], y[2]);
  EXPECT_EQ(bench.tensor(narrow->result()).data<uint64_t>()[1], y[3]);
  Op* buckets = bench.Run("hash_ids", {bench.Arg(Ints({1}, {1}))}, {}, {{"buckets", 1000}});
  EXPECT_EQ(bench.tensor(buckets->result()).data<uint64_t>()[0], y[1] % 1000);
}

TEST(HashCross, DependsOnAllColumnsAndTheirOrder) {
  KernelBench bench;
  Value* a = bench.Arg(Ints({1}, {1}));
  Value* b = bench.Arg(Ints({1}, {2}, DType::kU64));
  const auto hash = [&](std::vector<Value*> columns) {
    return bench.tensor(bench.Run("hash_cross", columns)->result()).data<uint64_t>()[0];
  };
  EXPECT_EQ(hash({a, b}), 0x0d7ad9b65fcd1874u);
  EXPECT_NE(hash({a, b}), hash({b, a}));
  EXPECT_EQ(hash({a}), bench.tensor(bench.Run("hash_ids", {a})->result()).data<uint64_t>()[0]);
}

}  // namespace
}  // namespace catamaran

// update, write and the other effects on dense state.

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/samples.h"
#include "catamaran/table/optimizers.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

// A bench with @w and the slots of a rule, all of the same values each time.
struct Trained {
  KernelBench bench;
  std::vector<std::string> states = {"w"};

  Trained(const OptimizerFact& fact, const Shape& shape, DType dtype) {
    bench.AddState("w", Cast(Uniform(shape, -1, 1, 1), dtype).Clone());
    for (const SlotFact& slot : fact.slots) {
      states.push_back("slot_" + std::string(slot.name));
      const Shape slot_shape = slot.per_row ? Shape{shape[0]} : shape;
      bench.AddState(states.back(), Cast(Uniform(slot_shape, 0.1, 0.5, 2), dtype).Clone(),
                     StateKind::kVar);
    }
  }
  void Update(const OptimizerFact& fact, Value* grad) {
    bench.Run("update",
              {grad, bench.Arg(Tensor::Scalar(0.1f)), bench.Arg(Tensor::Scalar<int64_t>(3))},
              states, {{"rule", Attr::Word(std::string(fact.name))}});
  }
};

TEST(Update, VectorCodeAndThreadsChangeNothing) {
  ThreadPool two(2), three(3);
  for (const OptimizerFact& fact : Optimizers()) {
    const Shape shape = {300, 123};
    Trained plain(fact, shape, DType::kF32);
    plain.bench.kernel = "reference";
    plain.Update(fact, plain.bench.Arg(Uniform(shape, -1, 1, 3)));
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &two, &three}) {
      Trained fast(fact, shape, DType::kF32);
      fast.bench.kernel = "vector";
      fast.bench.pool = pool;
      fast.Update(fact, fast.bench.Arg(Uniform(shape, -1, 1, 3)));
      for (const std::string& state : plain.states) {
        // The rules have no sums over elements but rowwise_adagrad's, which the same order gives.
        EXPECT_TRUE(fast.bench.value_of(state).Equals(plain.bench.value_of(state)))
            << fact.name << " " << state;
      }
    }
  }
}

TEST(Update, RowsChangeOnlyTheirRowsAndEqualKeysAddUp) {
  for (const OptimizerFact& fact : Optimizers()) {
    for (DType dtype : {DType::kF32, DType::kF64}) {
      const Shape shape = {5, 3};
      Trained sparse(fact, shape, dtype), dense(fact, shape, dtype);
      const Tensor before = sparse.bench.value_of("w").Clone();
      const Tensor dy = Cast(Floats({3, 3}, {1, 2, 3, 0.5, 0.5, 0.5, 10, 20, 30}), dtype);
      Op* rows = sparse.bench.Run("embedding_rows",
                                  {sparse.bench.Arg(Ints({3}, {4, 1, 4})), sparse.bench.Arg(dy)});
      sparse.Update(fact, rows->result());
      dense.Update(fact, dense.bench.Arg(Cast(Floats({5, 3}, {0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0,  //
                                                              0, 0, 0, 11, 22, 33}),
                                              dtype)));
      const Tensor got = Cast(sparse.bench.value_of("w"), DType::kF64);
      const Tensor want = Cast(dense.bench.value_of("w"), DType::kF64);
      const Tensor old = Cast(before, DType::kF64);
      for (size_t i = 0; i < 15; ++i) {
        const bool touched = i / 3 == 1 || i / 3 == 4;
        EXPECT_NEAR(got.data<double>()[i], (touched ? want : old).data<double>()[i], 1e-6)
            << fact.name << " " << i;
      }
    }
  }
}

TEST(Update, MistakesAreNamed) {
  const auto message = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  KernelBench bench;
  bench.AddState("w", Uniform({2, 2}, -1, 1));
  bench.AddState("m", Uniform({2, 2}, -1, 1), StateKind::kVar);
  bench.AddState("short", Uniform({2}, -1, 1), StateKind::kVar);
  const auto update = [&](const char* rule, std::vector<std::string> states, Tensor grad,
                          std::vector<NamedAttr> more = {}) {
    more.push_back({"rule", Attr::Word(rule)});
    return message([&] {
      bench.Run("update", {bench.Arg(std::move(grad)), bench.Arg(Tensor::Scalar(0.1f)), nullptr},
                std::move(states), std::move(more));
    });
  };
  const Tensor g = Uniform({2, 2}, -1, 1);
  EXPECT_NE(update("sgd", {"w"}, Uniform({3, 2}, -1, 1)).find("gradient"), std::string::npos);
  EXPECT_NE(update("momentum", {"w"}, g).find("1 slots, found 0"), std::string::npos);
  EXPECT_NE(update("momentum", {"w", "short"}, g).find("@short must be f32[2, 2]"),
            std::string::npos);
  EXPECT_NE(update("adam", {"w", "m", "m"}, g).find("step"), std::string::npos);
  EXPECT_NE(update("sgd", {"w"}, g, {{"beta1", 0.5}}).find("no hyperparameter beta1"),
            std::string::npos);
  Op* rows =
      bench.Run("embedding_rows", {bench.Arg(Ints({1}, {2})), bench.Arg(Floats({1, 2}, {1, 1}))});
  const Tensor before = bench.value_of("w").Clone();
  EXPECT_NE(message([&] {
              bench.Run("update", {rows->result(), bench.Arg(Tensor::Scalar(0.1f)), nullptr}, {"w"},
                        {{"rule", Attr::Word("sgd")}});
            }).find("outside of the 2 rows"),
            std::string::npos);
  EXPECT_TRUE(bench.value_of("w").Equals(before));
}

TEST(Write, GivesTheStateTheValue) {
  KernelBench bench;
  bench.AddState("s", Floats({2}, {1, 2}), StateKind::kVar);
  bench.Run("write", {bench.Arg(Floats({2}, {3, 4}))}, {"s"});
  EXPECT_TRUE(bench.value_of("s").Equals(Floats({2}, {3, 4})));
  EXPECT_THROW(bench.Run("write", {bench.Arg(Floats({3}, {3, 4, 5}))}, {"s"}), Error);
}

TEST(Send, IsTypedButDoesNotRunYet) {
  KernelBench bench;
  bench.program().items.Add(StateDecl{
      StateKind::kChannel, "c", Type::Chan(Type::Tensor(DType::kF32, {Dim(2)})), {}, {}, {}});
  try {
    bench.Run("send", {bench.Arg(Floats({2}, {1, 2}))}, {"c"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("channels do not run yet"), std::string::npos);
  }
  EXPECT_THROW(bench.Run("send", {bench.Arg(Floats({3}, {1, 2, 3}))}, {"c"}), Error);
}

}  // namespace
}  // namespace catamaran

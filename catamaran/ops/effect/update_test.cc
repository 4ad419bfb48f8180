// update, write and the other effects on dense state.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "catamaran/base/cpu.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/effect/update_code.h"
#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/samples.h"
#include "catamaran/table/optimizers.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

// A rule with hyperparameters: as they are by default, or with everything on.
struct Choice {
  const OptimizerFact& fact;
  Optimizer optimizer;
  std::vector<NamedAttr> attrs;

  Choice(const OptimizerFact& of, bool full) : fact(of), optimizer(MakeOptimizer(of.name)) {
    attrs.push_back({"rule", Attr::Word(std::string(fact.name))});
    if (!full) return;
    for (const HyperFact& hyper : fact.hypers) {
      if (hyper.name == "initial_accumulator") continue;
      const double value = hyper.flag ? 1 : hyper.default_value == 0 ? 0.2 : hyper.default_value;
      SetHyper(optimizer, hyper.name, value);
      attrs.push_back({std::string(hyper.name), hyper.flag ? Attr(true) : Attr(value)});
    }
  }
};

std::vector<Choice> Choices() {
  std::vector<Choice> choices;
  for (const OptimizerFact& fact : Optimizers()) {
    choices.emplace_back(fact, false);
    choices.emplace_back(fact, true);
  }
  return choices;
}

// A bench with @w and the slots of a rule, all of the same values each time.
struct Trained {
  const Choice& choice;
  KernelBench bench;
  std::vector<std::string> states = {"w"};

  Trained(const Choice& of, const Shape& shape, DType dtype) : choice(of) {
    bench.AddState("w", Cast(Uniform(shape, -1, 1, 1), dtype).Clone());
    for (const SlotFact& slot : choice.optimizer.slots()) {
      states.push_back("slot_" + std::string(slot.name));
      const Shape slot_shape = slot.per_row ? Shape{shape[0]} : shape;
      bench.AddState(states.back(), Cast(Uniform(slot_shape, 0.1, 0.5, 2), dtype).Clone(),
                     StateKind::kVar);
    }
  }
  void Update(Value* grad, bool when = true) {
    bench.Run("update",
              {grad, bench.Arg(Tensor::Scalar(0.1f)), bench.Arg(Tensor::Scalar<int64_t>(3)),
               when ? nullptr : bench.Arg(Tensor::Scalar<bool>(false))},
              states, choice.attrs);
  }
};

TEST(Update, VectorCodeAndThreadsChangeNothing) {
  ThreadPool two(2), three(3);
  for (const Choice& choice : Choices()) {
    for (DType dtype : {DType::kF32, DType::kF64}) {
      const Shape shape = {300, 123};
      const Tensor grad = Cast(Uniform(shape, -1, 1, 3), dtype);
      Trained plain(choice, shape, dtype);
      plain.bench.kernel = "reference";
      plain.Update(plain.bench.Arg(grad));
      for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &two, &three}) {
        Trained fast(choice, shape, dtype);
        fast.bench.kernel = "vector";
        fast.bench.pool = pool;
        fast.Update(fast.bench.Arg(grad));
        for (const std::string& state : plain.states) {
          EXPECT_TRUE(fast.bench.value_of(state).Equals(plain.bench.value_of(state)))
              << choice.fact.name << " " << state;
        }
      }
    }
  }
}

// The same bits from the code of every instruction set that this machine has.
TEST(Update, InstructionSetsGiveTheSameBits) {
  const int64_t n = 1003;
  for (const Choice& choice : Choices()) {
    std::vector<float> ends[3];
    for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
      if (isa > DetectIsa()) continue;
      UpdateTarget<float> to = {};
      std::vector<float> w(n), g(n), slots[3];
      for (int64_t i = 0; i < n; ++i) {
        const double x = static_cast<double>(i);
        w[static_cast<size_t>(i)] = static_cast<float>(std::sin(x));
        g[static_cast<size_t>(i)] = static_cast<float>(std::cos(3 * x));
      }
      to.w = w.data();
      to.width = 59;
      for (const SlotFact& slot : choice.optimizer.slots()) {
        slots[to.num_slots].assign(n, 0.3f);
        to.slots[to.num_slots] = slots[to.num_slots].data();
        to.slot_width[to.num_slots++] = slot.per_row ? 1 : to.width;
      }
      const auto factors =
          rules::FactorsOf<float>(choice.optimizer.rule, choice.optimizer.hyper, 0.1, 3);
      FindUpdateCode(isa).f32.block(factors, to, g.data(), 0, n / to.width);
      std::vector<float>& end = ends[static_cast<int>(isa)];
      end = w;
      for (const auto& slot : slots) end.insert(end.end(), slot.begin(), slot.end());
      EXPECT_EQ(end, ends[0]) << choice.fact.name << " " << IsaName(isa);
    }
  }
}

TEST(Update, RowsChangeOnlyTheirRowsAndEqualKeysAddUp) {
  for (const Choice& choice : Choices()) {
    if (choice.fact.rule == rules::Rule::kLamb) continue;  // has norms of the parameter
    for (DType dtype : {DType::kF32, DType::kF64}) {
      const Shape shape = {5, 3};
      Trained sparse(choice, shape, dtype), dense(choice, shape, dtype);
      std::map<std::string, Tensor> before;
      for (const std::string& s : sparse.states) before[s] = sparse.bench.value_of(s).Clone();
      const Tensor dy = Cast(Floats({3, 3}, {1, 2, 3, 0.5, 0.5, 0.5, 10, 20, 30}), dtype);
      Op* rows = sparse.bench.Run("embedding_rows",
                                  {sparse.bench.Arg(Ints({3}, {4, 1, 4})), sparse.bench.Arg(dy)});
      sparse.Update(rows->result());
      dense.Update(dense.bench.Arg(Cast(Floats({5, 3}, {0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0,  //
                                                        0, 0, 0, 11, 22, 33}),
                                        dtype)));
      for (const std::string& state : sparse.states) {
        const Tensor got = Cast(sparse.bench.value_of(state), DType::kF64);
        const Tensor want = Cast(dense.bench.value_of(state), DType::kF64);
        const Tensor old = Cast(before[state], DType::kF64);
        const size_t count = got.data<double>().size(), width = count / 5;
        for (size_t i = 0; i < count; ++i) {
          const bool touched = i / width == 1 || i / width == 4;
          EXPECT_EQ(got.data<double>()[i], (touched ? want : old).data<double>()[i])
              << choice.fact.name << " " << state << " " << i;
        }
      }
    }
  }
}

// Enough scattered keys for the sort by digits: the sums are those that rows_to_dense makes.
TEST(Update, ManyRowsAreAddedUpInBatchOrder) {
  const Choice choice(FactOf(rules::Rule::kAdagrad), false);
  const Shape shape = {5000, 3};
  Trained sparse(choice, shape, DType::kF32), dense(choice, shape, DType::kF32);
  Tensor ids = Tensor::Zeros(DType::kI64, {3000});
  uint64_t x = 1;
  for (int64_t& id : ids.mutable_data<int64_t>()) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<int64_t>((x >> 33) % 5000);
  }
  const Tensor dy = Uniform({3000, 3}, -1, 1, 5);
  Op* rows = sparse.bench.Run("embedding_rows", {sparse.bench.Arg(ids), sparse.bench.Arg(dy)});
  sparse.Update(rows->result());
  Op* same = dense.bench.Run("embedding_rows", {dense.bench.Arg(ids), dense.bench.Arg(dy)});
  Op* all =
      dense.bench.Run("rows_to_dense", {same->result(), dense.bench.Arg(Uniform(shape, 0, 1))});
  dense.Update(all->result());
  for (const std::string& state : sparse.states) {
    EXPECT_TRUE(sparse.bench.value_of(state).Equals(dense.bench.value_of(state))) << state;
  }
}

// A row of a sparse gradient is a parameter of its own to lamb, as a row of a table is.
TEST(Update, LambTakesTheNormsOfEachSparseRow) {
  const Choice choice(FactOf(rules::Rule::kLamb), false);
  Trained sparse(choice, {5, 3}, DType::kF64), alone(choice, {5, 3}, DType::kF64);
  const Tensor dy = Cast(Floats({2, 3}, {1, 2, 3, 0.5, 0.5, 0.5}), DType::kF64);
  Op* rows = sparse.bench.Run("embedding_rows",
                              {sparse.bench.Arg(Ints({2}, {4, 1})), sparse.bench.Arg(dy)});
  sparse.Update(rows->result());
  double* slots[kMaxSlots] = {};
  const auto at = [&](const std::string& state, int64_t row) {
    return alone.bench.value_of(state).mutable_data<double>().data() + 3 * row;
  };
  for (const int64_t row : {4, 1}) {
    slots[0] = at("slot_m", row);
    slots[1] = at("slot_v", row);
    rules::Apply(choice.optimizer.rule, choice.optimizer.hyper, at("w", row),
                 dy.data<double>().data() + (row == 4 ? 0 : 3), slots, 1, 3,
                 static_cast<double>(0.1f), 3);
  }
  for (const std::string& state : sparse.states) {
    EXPECT_TRUE(sparse.bench.value_of(state).Equals(alone.bench.value_of(state))) << state;
  }
}

TEST(Update, WhenFalseNothingChanges) {
  for (const Choice& choice : Choices()) {
    Trained trained(choice, {4, 3}, DType::kF32), same(choice, {4, 3}, DType::kF32);
    trained.Update(trained.bench.Arg(Uniform({4, 3}, -1, 1, 3)), false);
    for (const std::string& state : trained.states) {
      EXPECT_TRUE(trained.bench.value_of(state).Equals(same.bench.value_of(state)));
    }
  }
}

TEST(Average, MovesTowardsTheState) {
  for (const char* kernel : {"reference", "vector"}) {
    KernelBench bench;
    bench.kernel = kernel;
    bench.AddState("mean", Floats({3}, {0, 4, 8}), StateKind::kVar);
    bench.AddState("w", Floats({3}, {8, 8, 8}));
    bench.AddState("short", Floats({2}, {8, 8}));
    bench.Run("average", {bench.Arg(Tensor::Scalar(0.25))}, {"mean", "w"});
    EXPECT_TRUE(bench.value_of("mean").Equals(Floats({3}, {2, 5, 8})));
    EXPECT_TRUE(bench.value_of("w").Equals(Floats({3}, {8, 8, 8})));
    EXPECT_THROW(bench.Run("average", {bench.Arg(Tensor::Scalar(0.25))}, {"mean", "short"}), Error);
    EXPECT_THROW(bench.Run("average", {bench.Arg(Tensor::Scalar(0.25))}, {"w", "w"}), Error);
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
      bench.Run("update",
                {bench.Arg(std::move(grad)), bench.Arg(Tensor::Scalar(0.1f)), nullptr, nullptr},
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
              bench.Run("update",
                        {rows->result(), bench.Arg(Tensor::Scalar(0.1f)), nullptr, nullptr}, {"w"},
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

// lookup and the other ops that work on tables and sparse gradients.

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "catamaran/ops/kernel_test_util.h"
#include "catamaran/ops/samples.h"
#include "catamaran/table/reference_table.h"

namespace catamaran {
namespace {

TableConfig Config(int64_t width, double lr = 1) {
  TableConfig config;
  config.width = width;
  config.init = {TableInit::Kind::kNormal, 1, 0};
  config.optimizer = MakeOptimizer("sgd", lr);
  return config;
}

std::vector<float> Row(const Table& table, uint64_t key) {
  std::vector<float> row(static_cast<size_t>(table.width()));
  table.Pull({&key, 1}, row, {[](void*, std::exception_ptr) {}, nullptr});
  return row;
}

Tensor Keys(const Shape& shape, std::initializer_list<int64_t> keys) {
  return Ints(shape, keys, DType::kU64);
}

TEST(Lookup, GivesTheRowsOfTheIds) {
  ReferenceTable table(Config(3));
  KernelBench bench;
  bench.AddTable("t", &table);
  Op* op = bench.Run("lookup", {bench.Arg(Keys({2, 2}, {7, 8, 8, 9})), nullptr}, {"t"});
  EXPECT_EQ(op->result()->type.ToString(), "f32[2, 2, 3]");
  const auto y = bench.tensor(op->result()).data<float>();
  const uint64_t keys[] = {7, 8, 8, 9};
  for (size_t k = 0; k < 4; ++k) {
    const auto row = Row(table, keys[k]);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(y[k * 3 + i], row[i]);
  }
  EXPECT_EQ(table.size(), 0);
}

TEST(Lookup, PoolsDenseAndRaggedIdsAsDefined) {
  ReferenceTable table(Config(2));
  const std::vector<uint64_t> keys = {7, 8, 8, 9};
  const std::vector<float> w = {1, -2, 3, 0.5};
  for (const char* pool : {"sum", "mean", "sqrt"}) {
    for (bool weighted : {false, true}) {
      for (bool ragged : {false, true}) {
        KernelBench bench;
        bench.AddTable("t", &table);
        const std::vector<int64_t> lengths = {3, 0, 1}, cut = {2, 2};
        Value* ids = ragged ? bench.Arg(Keys({4}, {7, 8, 8, 9}), lengths)
                            : bench.Arg(Keys({2, 2}, {7, 8, 8, 9}));
        Value* weights = nullptr;
        if (weighted) {
          weights = ragged ? bench.Arg(Tensor::FromVector(w), lengths)
                           : bench.Arg(Tensor::FromVector(Shape{2, 2}, w));
        }
        Op* op = bench.Run("lookup", {ids, weights}, {"t"}, {{"pool", Attr::Word(pool)}});
        const auto y = bench.tensor(op->result()).data<float>();
        size_t k = 0, bag = 0;
        for (int64_t length : ragged ? lengths : cut) {
          double sum[2] = {}, total = 0, squares = 0;
          for (int64_t n = 0; n < length; ++n, ++k) {
            const auto row = Row(table, keys[k]);
            const double weight = weighted ? w[k] : 1;
            total += weight, squares += weight * weight;
            for (int i = 0; i < 2; ++i) sum[i] += weight * row[static_cast<size_t>(i)];
          }
          const std::string p = pool;
          const double by = p == "sum" ? 1 : p == "mean" ? total : std::sqrt(squares);
          for (size_t i = 0; i < 2; ++i) {
            EXPECT_NEAR(y[bag * 2 + i], length == 0 ? 0 : sum[i] / by, 1e-4)
                << pool << weighted << ragged;
          }
          ++bag;
        }
      }
    }
  }
}

// The sum of the pooled rows times `dy`, as a function of the weights, by hand.
TEST(Lookup, WeightsGetTheGradientOfFiniteDifferences) {
  ReferenceTable table(Config(3));
  const Tensor dy = Uniform({2, 3}, -1, 1, 5);
  const auto loss = [&](const std::vector<float>& w, const char* pool) {
    KernelBench bench;
    bench.AddTable("t", &table);
    Op* op = bench.Run(
        "lookup",
        {bench.Arg(Keys({2, 2}, {7, 8, 8, 9})), bench.Arg(Tensor::FromVector(Shape{2, 2}, w))},
        {"t"}, {{"pool", Attr::Word(pool)}});
    double sum = 0;
    for (size_t i = 0; i < 6; ++i) {
      sum += static_cast<double>(bench.tensor(op->result()).data<float>()[i]) * dy.data<float>()[i];
    }
    return sum;
  };
  for (const char* pool : {"sum", "mean", "sqrt"}) {
    std::vector<float> w = {1, 0.5, 2, 0.7f};
    KernelBench bench;
    bench.AddTable("t", &table);
    Value* ids = bench.Arg(Keys({2, 2}, {7, 8, 8, 9}));
    Value* weights = bench.Arg(Tensor::FromVector(Shape{2, 2}, w));
    const std::vector<NamedAttr> attrs = {{"pool", Attr::Word(pool)}};
    Op* y = bench.Run("lookup", {ids, weights}, {"t"}, attrs);
    Op* dw =
        bench.Run("lookup_weights_grad", {ids, weights, y->result(), bench.Arg(dy)}, {"t"}, attrs);
    for (size_t k = 0; k < 4; ++k) {
      const float h = 1e-2f;
      std::vector<float> up = w, down = w;
      up[k] += h, down[k] -= h;
      EXPECT_NEAR(bench.tensor(dw->result()).data<float>()[k],
                  (loss(up, pool) - loss(down, pool)) / (2 * h), 2e-3)
          << pool << k;
    }
  }
}

TEST(Lookup, GradientGoesThroughPushToTheRows) {
  for (const char* pool : {"none", "sum", "mean", "sqrt"}) {
    ReferenceTable table(Config(2));
    KernelBench bench;
    bench.AddTable("t", &table);
    const auto before = Row(table, 8);
    const bool none = std::string(pool) == "none";
    Value* ids = bench.Arg(Keys({2, 2}, {7, 8, 8, 9}));
    const Tensor dy =
        none ? Floats({2, 2, 2}, {0, 0, 1, 2, 10, 20, 0, 0}) : Floats({2, 2}, {1, 2, 10, 20});
    Op* rows =
        bench.Run("lookup_rows", {ids, bench.Arg(dy), nullptr}, {}, {{"pool", Attr::Word(pool)}});
    EXPECT_EQ(rows->result()->type.ToString(), "rows<f32[2]>");
    bench.Run("push", {rows->result(), bench.Arg(Tensor::Scalar(0.5f)), nullptr}, {"t"});
    bench.ApplyEffects();
    const double by = none || std::string(pool) == "sum" ? 1
                      : std::string(pool) == "mean"      ? 2
                                                         : std::sqrt(2.0);
    EXPECT_NEAR(Row(table, 8)[0], before[0] - 0.5 * 11 / by, 1e-5) << pool;
    EXPECT_NEAR(Row(table, 8)[1], before[1] - 0.5 * 22 / by, 1e-5) << pool;
    EXPECT_EQ(table.size(), 3);
  }
}

TEST(Lookup, ObserveCountsShowsAndClicksByExample) {
  ReferenceTable table(Config(2));
  KernelBench bench;
  bench.AddTable("t", &table);
  bench.event_time_now = 77 * kNanosecondsPerSecond;
  bench.Run("observe",
            {bench.Arg(Keys({2, 2}, {7, 8, 8, 9})), bench.Arg(Tensor::Scalar(2.0f)),
             bench.Arg(Floats({2}, {1, 0}))},
            {"t"});
  bench.Run("observe",
            {bench.Arg(Keys({3}, {7, 7, 5}), {1, 2}), nullptr, bench.Arg(Floats({2}, {0.25, 0.5}))},
            {"t"});
  EXPECT_EQ(table.size(), 0);
  bench.step_now = 1;
  bench.ApplyEffects();
  ReferenceTable::Metadata metadata;
  ASSERT_TRUE(table.Find(7, &metadata));
  EXPECT_EQ(metadata.show, 4);       // 2, then 1 and 1
  EXPECT_EQ(metadata.click, 1.75f);  // 1, then 0.25 and 0.5
  EXPECT_EQ(metadata.last_seen, 77);
  ASSERT_TRUE(table.Find(8, &metadata));
  EXPECT_EQ(metadata.show, 4);
  EXPECT_EQ(metadata.click, 1);
}

TEST(Lookup, IdsOfAFeatureAreKeysOfTheirOwn) {
  TableConfig config = Config(2);
  config.features = {"user", "item"};
  ReferenceTable table(config);
  const uint64_t salt = FeatureSalt("item");
  KernelBench bench;
  bench.AddTable("t", &table, {{"features", Attr(Attr::List{Attr::Word("user"), Attr("item")})}});
  const NamedAttr item = {"feature", Attr::Word("item")};
  Value* ids = bench.Arg(Keys({2, 2}, {7, 8, 8, 9}));
  Value* weights = bench.Arg(Floats({2, 2}, {1, 2, 3, 4}));
  Op* rows = bench.Run("lookup", {ids, nullptr}, {"t"}, {item});
  const auto y = bench.tensor(rows->result()).data<float>();
  const uint64_t keys[] = {7, 8, 8, 9};
  for (size_t k = 0; k < 4; ++k) {
    const auto row = Row(table, SaltedKey(keys[k], salt));
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(y[k * 2 + i], row[i]);
  }
  Op* pooled = bench.Run("lookup", {ids, weights}, {"t"}, {{"pool", Attr::Word("sum")}, item});
  const auto z = bench.tensor(pooled->result()).data<float>();
  EXPECT_FLOAT_EQ(z[0], y[0] + 2 * y[2]);
  Value* dz = bench.Arg(Floats({2, 2}, {1, 0, 0, 1}));
  Op* dw = bench.Run("lookup_weights_grad", {ids, weights, pooled->result(), dz}, {"t"},
                     {{"pool", Attr::Word("sum")}, item});
  EXPECT_FLOAT_EQ(bench.tensor(dw->result()).data<float>()[1], y[2]);

  bench.Run("observe", {ids, nullptr, nullptr}, {"t"}, {item});
  Op* gradient =
      bench.Run("lookup_rows", {ids, dz, nullptr}, {}, {{"pool", Attr::Word("sum")}, item});
  bench.Run("push", {gradient->result(), nullptr, nullptr}, {"t"});
  const auto before = Row(table, SaltedKey(8, salt));
  bench.step_now = 1;
  bench.ApplyEffects();
  const auto after = Row(table, SaltedKey(8, salt));
  EXPECT_FLOAT_EQ(after[0], before[0] - 1);  // of both bags
  EXPECT_FLOAT_EQ(after[1], before[1] - 1);
  EXPECT_FALSE(table.Find(8, nullptr));
  EXPECT_EQ(table.Info().features[1].rows, 3);
  EXPECT_EQ(table.Info().features[1].occurrences, 4);
  EXPECT_EQ(table.Info().features[0].rows, 0);
  for (const char* op : {"lookup", "observe"}) {
    try {
      bench.Run(op,
                op[0] == 'l' ? std::vector<Value*>{ids, nullptr}
                             : std::vector<Value*>{ids, nullptr, nullptr},
                {"t"}, {{"feature", Attr::Word("itm")}});
      FAIL();
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(
                    "@t has no feature itm; it has user, item (did you mean item?)"),
                std::string::npos)
          << e.what();
    }
  }
}

TEST(Lookup, MistakesAreNamed) {
  ReferenceTable table(Config(2));
  KernelBench bench;
  bench.AddTable("t", &table);
  bench.AddState("w", Uniform({4, 2}, -1, 1));
  const auto message = [&](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  Value* ids = bench.Arg(Keys({2}, {1, 2}));
  EXPECT_NE(message([&] {
              bench.Run("lookup", {ids, nullptr}, {"w"});
            }).find("embedding(@w"),
            std::string::npos);
  EXPECT_NE(message([&] {
              bench.Run("lookup", {bench.Arg(Floats({1}, {1})), nullptr}, {"t"});
            }).find("u64"),
            std::string::npos);
  EXPECT_NE(message([&] {
              bench.Run("lookup", {ids, bench.Arg(Floats({2}, {1, 1}))}, {"t"});
            }).find("pool"),
            std::string::npos);
}

// A table whose rows are far away.
class SlowTable final : public Table {
 public:
  explicit SlowTable(const Table& near) : near_(near) {}
  ~SlowTable() override { Join(); }
  int64_t width() const override { return near_.width(); }
  int64_t size() const override { return near_.size(); }
  TableInfo Info() const override { return near_.Info(); }
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const override {
    worker_ = std::thread([=, this] {
      while (!go.load()) std::this_thread::yield();
      if (fail) {
        done(std::make_exception_ptr(Error("the server is gone")));
      } else {
        near_.Pull(keys, out, done);
      }
    });
  }
  void Prepare(const TableStep&) override {}
  int64_t ApplyPrepared() override { return 0; }
  int64_t Expire(int64_t) override { return 0; }
  void Join() {
    if (worker_.joinable()) worker_.join();
  }
  std::atomic<bool> go = false;
  bool fail = false;

 private:
  const Table& near_;
  mutable std::thread worker_;
};

TEST(Lookup, CompletesLaterWhereRowsAreFar) {
  ReferenceTable near(Config(2));
  for (const char* pool : {"none", "sum"}) {
    for (bool fail : {false, true}) {
      SlowTable far(near);
      far.fail = fail;
      KernelBench bench;
      bench.AddTable("t", &far);
      Op* op = bench.Run("lookup", {bench.Arg(Keys({1, 2}, {7, 8})), nullptr}, {"t"},
                         {{"pool", Attr::Word(pool)}});
      EXPECT_EQ(bench.status, KernelStatus::kPending);
      EXPECT_FALSE(bench.completed);
      far.go = true;
      far.Join();
      ASSERT_TRUE(bench.completed);
      EXPECT_EQ(bench.failed != nullptr, fail);
      if (fail) continue;
      const float want = Row(near, 7)[0] + (std::string(pool) == "sum" ? Row(near, 8)[0] : 0);
      EXPECT_FLOAT_EQ(bench.tensor(op->result()).data<float>()[0], want);
    }
  }
}

TEST(Rows, NormFinitenessAndDenseFormAddUpEqualKeys) {
  KernelBench bench;
  const Tensor dy = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  Op* one = bench.Run("embedding_rows", {bench.Arg(Ints({3}, {2, 0, 2})), bench.Arg(dy)});
  Op* two = bench.Run("embedding_rows", {bench.Arg(Ints({1}, {0}, DType::kI32)),
                                         bench.Arg(Floats({1, 2}, {10, 20}))});
  Op* all = bench.Run("rows_concat", {one->result(), two->result()});
  Op* scaled = bench.Run("rows_scale", {all->result(), bench.Arg(Tensor::Scalar(2.0f))});
  Op* dense = bench.Run("rows_to_dense", {scaled->result(), bench.Arg(Uniform({4, 2}, -1, 1))});
  EXPECT_TRUE(bench.tensor(dense->result()).Equals(Floats({4, 2}, {26, 48, 0, 0, 12, 16, 0, 0})))
      << bench.tensor(dense->result());
  Op* norm = bench.Run("rows_square_norm", {scaled->result()});
  EXPECT_FLOAT_EQ(bench.tensor(norm->result()).item<float>(), 26 * 26 + 48 * 48 + 144 + 256);
  Op* finite = bench.Run("rows_all_finite", {scaled->result()});
  EXPECT_TRUE(bench.tensor(finite->result()).item<bool>());
  Op* bad = bench.Run("embedding_rows",
                      {bench.Arg(Ints({1}, {0})), bench.Arg(Floats({1, 2}, {1, INFINITY}))});
  Op* not_finite = bench.Run("rows_all_finite", {bad->result()});
  EXPECT_FALSE(bench.tensor(not_finite->result()).item<bool>());
}

TEST(Rows, AKeyOutsideOfTheParameterIsNamed) {
  KernelBench bench;
  Op* rows =
      bench.Run("embedding_rows", {bench.Arg(Ints({1}, {4})), bench.Arg(Floats({1, 2}, {1, 1}))});
  EXPECT_THROW(bench.Run("rows_to_dense", {rows->result(), bench.Arg(Uniform({4, 2}, -1, 1))}),
               Error);
}

TEST(Stack, PopsInTheOppositeOrder) {
  KernelBench bench;
  Value* like = bench.Arg(Floats({2}, {0, 0}));
  Op* s0 = bench.Run("stack_new", {like});
  Op* s1 = bench.Run("stack_push", {s0->result(), bench.Arg(Floats({2}, {1, 2}))});
  Op* s2 = bench.Run("stack_push", {s1->result(), bench.Arg(Floats({2}, {3, 4}))});
  EXPECT_EQ(bench.stack(s2->result()).size(), 2u);
  Op* p1 = bench.Run("stack_pop", {s2->result()});
  Op* p0 = bench.Run("stack_pop", {p1->result(0)});
  EXPECT_TRUE(bench.tensor(p1->result(1)).Equals(Floats({2}, {3, 4})));
  EXPECT_TRUE(bench.tensor(p0->result(1)).Equals(Floats({2}, {1, 2})));
  EXPECT_THROW(bench.Run("stack_pop", {p0->result(0)}), Error);
  EXPECT_THROW(bench.Run("stack_push", {s0->result(), bench.Arg(Floats({3}, {3, 4, 5}))}), Error);
}

}  // namespace
}  // namespace catamaran

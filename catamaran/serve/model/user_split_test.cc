#include "catamaran/serve/model/user_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "catamaran/nn/program_test_util.h"
#include "catamaran/serve/model/rows_apart.h"

namespace catamaran {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::vector<std::string> OpsOf(const Executable& executable) {
  std::vector<std::string> ops;
  ForEachOp(executable.plan().function->body(), [&](Op& op) { ops.push_back(op.name()); });
  return ops;
}

// One row of floats, `times` of it.
Tensor Repeated(const Tensor& row, int64_t times) {
  std::vector<float> values;
  for (int64_t i = 0; i < times; ++i) {
    values.insert(values.end(), row.data<float>().begin(), row.data<float>().end());
  }
  Shape shape = row.shape();
  shape.Set(0, times);
  return Tensor::FromVector<float>(shape, values);
}

constexpr const char* kTowers = R"(program towers
table @t : u64 -> f32[4] = normal(std=1.0) { optimizer = adagrad(lr=0.1) }
tower = mlp([4, 8, 4])
head = linear(8, 1)
fn infer(history: u64[B, *T], age: f32[B], item: u64[B]) -> (p: f32[B], age: f32[B]) {
  user = tower(ragged_pool(lookup(@t, history), pool=mean) * reshape(age, [B, 1]))
  x = concat(user, lookup(@t, item), axis=1)
  return sigmoid(reshape(head(x), [B])), age
}
)";

TEST(UserSplit, TheUsersTowerIsInTheUsersPartAlone) {
  TestProgram program(kTowers);
  const Executable& whole = program.Get("infer");
  const auto split = SplitByUser(program.flat(), whole, {true, true, false});
  ASSERT_NE(split, nullptr);
  EXPECT_THAT(OpsOf(*split->user),
              AllOf(Contains("ragged_pool"), Contains("relu"), Not(Contains("sigmoid"))));
  EXPECT_THAT(OpsOf(*split->item),
              AllOf(Contains("sigmoid"), Not(Contains("ragged_pool")), Not(Contains("relu"))));
  EXPECT_THAT(split->user_arguments, ElementsAre(0, 1));
  EXPECT_THAT(split->item_arguments, ElementsAre(1, 2));  // age is a result by itself too
}

TEST(UserSplit, BothPartsGiveWhatTheWholeGives) {
  TestProgram program(kTowers);
  const Executable& whole = program.Get("infer");
  const auto split = SplitByUser(program.flat(), whole, {true, true, false});
  ASSERT_NE(split, nullptr);
  const RunResult user =
      split->user->Run(program.state(), {{"history", Tensor::FromVector<uint64_t>({3, 4, 5})},
                                         {"history.offsets", Tensor::FromVector<int64_t>({0, 3})},
                                         {"age", Tensor::FromVector<float>({2})}});
  std::map<std::string, Tensor> feeds = {{"age", Tensor::FromVector<float>({2, 2})},
                                         {"item", Tensor::FromVector<uint64_t>({8, 9})}};
  for (size_t i = 0; i < user.outputs.size(); ++i) {
    feeds[split->user->output_name(i)] = Repeated(user.outputs[i], 2);
  }
  const RunResult parts = split->item->Run(program.state(), feeds);
  const RunResult expected =
      program.Run("infer", {{"history", Tensor::FromVector<uint64_t>({3, 4, 5, 3, 4, 5})},
                            {"history.offsets", Tensor::FromVector<int64_t>({0, 3, 6})},
                            {"age", Tensor::FromVector<float>({2, 2})},
                            {"item", Tensor::FromVector<uint64_t>({8, 9})}});
  EXPECT_TRUE(AllClose(parts.outputs[0], expected.outputs[0]));
  EXPECT_TRUE(parts.outputs[1].Equals(expected.outputs[1]));
}

// Rows that are put together of the user's and the item's, as in DeepFM.
constexpr const char* kCrossed = R"(program crossed
table @t : u64 -> f32[3] = normal(std=1.0) { optimizer = adagrad(lr=0.1) }
deep = mlp([14, 8, 1])
fn infer(user: u64[B, 2], item: u64[B, 2], dense: f32[B, 2]) -> (p: f32[B]) {
  e = concat(lookup(@t, user), lookup(@t, item), axis=1)
  x = concat(reshape(e, [B, 12]), dense, axis=1)
  return sigmoid(reshape(deep(x), [B]) + sum(e, axes=[1, 2]))
}
)";

int CountOf(const Executable& executable, const std::string& name) {
  const std::vector<std::string> ops = OpsOf(executable);
  return static_cast<int>(std::count(ops.begin(), ops.end(), name));
}

TEST(UserSplit, ProductsOfBothAreTakenApartWhereThatWasAskedFor) {
  TestProgram program(kCrossed);
  const Executable& whole = program.Get("infer");
  const auto plain = SplitByUser(program.flat(), whole, {true, false, true});
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(CountOf(*plain->user, "matmul"), 0);
  const auto split = SplitByUser(program.flat(), whole, {true, false, true}, /*products=*/true);
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(CountOf(*split->user, "matmul"), 1);
  EXPECT_EQ(CountOf(*split->item, "matmul"), 2);  // of the item's columns, and of the last layer
  EXPECT_THAT(split->item_arguments, ElementsAre(1));
}

TEST(UserSplit, ProductsThatWereTakenApartDifferByRoundingsAlone) {
  TestProgram program(kCrossed);
  const Executable& whole = program.Get("infer");
  const Tensor user = Tensor::FromVector<uint64_t>({1, 2}, {3, 4});
  const Tensor dense = Tensor::FromVector<float>({1, 2}, {0.25F, -2});
  const Tensor items = Tensor::FromVector<uint64_t>({2, 2}, {8, 9, 10, 11});
  const Tensor expected =
      program
          .Run("infer", {{"user", Tensor::FromVector<uint64_t>({2, 2}, {3, 4, 3, 4})},
                         {"item", items},
                         {"dense", Tensor::FromVector<float>({2, 2}, {0.25F, -2, 0.25F, -2})}})
          .outputs[0];
  for (const std::vector<bool>& is_user :
       std::vector<std::vector<bool>>{{true, false, true}, {true, false, false}}) {
    const auto split = SplitByUser(program.flat(), whole, is_user, /*products=*/true);
    ASSERT_NE(split, nullptr);
    std::map<std::string, Tensor> once, each;
    const std::map<std::string, Tensor> rows = {{"user", user}, {"dense", dense}};
    const char* const names[] = {"user", "item", "dense"};
    for (const size_t i : split->user_arguments) once[names[i]] = rows.at(names[i]);
    for (const size_t i : split->item_arguments) {
      each[names[i]] = i == 1 ? items : Repeated(rows.at(names[i]), 2);
    }
    const RunResult first = split->user->Run(program.state(), once);
    for (size_t i = 0; i < first.outputs.size(); ++i) {
      each[split->user->output_name(i)] = Repeated(first.outputs[i], 2);
    }
    EXPECT_TRUE(AllClose(split->item->Run(program.state(), each).outputs[0], expected));
  }
}

// As kCrossed, and wide enough that a kernel has full and cut-off tiles; the machine's fields are
// columns of the rows, as in DeepFM.
constexpr const char* kOrdered = R"(program ordered
table @t : u64 -> f32[18] = normal(std=1.0) { optimizer = adagrad(lr=0.1) }
fm = factorization_machine(joint=true)
deep = mlp([185, 70, 1])
fn infer(user: u64[B, 4], item: u64[B, 6], dense: f32[B, 5]) -> (p: f32[B]) {
  e = concat(lookup(@t, user), lookup(@t, item), axis=1)
  x = concat(reshape(e, [B, 180]), dense, axis=1)
  return reshape(deep(x), [B]) + fm(e)
}
)";

// The function as it is served.
std::shared_ptr<const Executable> Ordered(TestProgram& program) {
  const Executable& whole = program.Get("infer");
  auto ordered = OrderProducts(program.flat(), *whole.plan().function, whole.options().isa);
  return ordered ? Compile(program.flat(), std::move(ordered), whole.options()) : nullptr;
}

Tensor Ids(int64_t rows, int64_t columns, uint64_t from) {
  std::vector<uint64_t> ids;
  for (int64_t i = 0; i < rows * columns; ++i) ids.push_back(from + static_cast<uint64_t>(i));
  return Tensor::FromVector<uint64_t>({rows, columns}, ids);
}

TEST(UserSplit, ColumnsOfTheUserThatComeFirstAreMultipliedOnceToTheSameBits) {
  TestProgram program(kOrdered);
  const auto whole = Ordered(program);
  if (whole == nullptr) GTEST_SKIP() << "no ordered products for this processor";
  EXPECT_EQ(CountOf(*whole, "matmul_in_order"), 1);
  const Tensor user = Ids(1, 4, 3);
  const Tensor dense = Tensor::FromVector<float>({1, 5}, {0.25F, -2, 1.5F, 0.1F, -0.7F});
  for (const int64_t rows : {8, 29, 150}) {
    const Tensor items = Ids(rows, 6, 100);
    std::vector<uint64_t> repeated;
    for (int64_t i = 0; i < rows; ++i) repeated.insert(repeated.end(), {3, 4, 5, 6});
    const RunResult expected =
        whole->Run(program.state(), {{"user", Tensor::FromVector<uint64_t>({rows, 4}, repeated)},
                                     {"item", items},
                                     {"dense", Repeated(dense, rows)}});
    for (const bool dense_too : {false, true}) {
      const auto split = SplitByUser(program.flat(), *whole, {true, false, dense_too});
      ASSERT_NE(split, nullptr);
      EXPECT_EQ(CountOf(*split->user, "matmul_in_order"), 1);
      EXPECT_EQ(CountOf(*split->item, "matmul_in_order"), dense_too ? 2 : 1);
      std::map<std::string, Tensor> once = {{"user", user}}, each = {{"item", items}};
      for (const size_t i : split->user_arguments) {
        if (i == 2) once["dense"] = dense;
      }
      for (const size_t i : split->item_arguments) {
        if (i == 2) each["dense"] = Repeated(dense, rows);
      }
      const RunResult first = split->user->Run(program.state(), once);
      for (size_t i = 0; i < first.outputs.size(); ++i) {
        each[split->user->output_name(i)] = Repeated(first.outputs[i], rows);
      }
      const RunResult parts = split->item->Run(program.state(), each);
      EXPECT_TRUE(parts.outputs[0].Equals(expected.outputs[0])) << rows << " rows";
    }
  }
}

TEST(UserSplit, RowsOfBothAreNotPutTogetherWhereTheirPartsWillDo) {
  TestProgram program(kOrdered);
  const auto whole = Ordered(program);
  if (whole == nullptr) GTEST_SKIP() << "no ordered products for this processor";
  const auto split = SplitByUser(program.flat(), *whole, {true, false, true});
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(CountOf(*whole, "concat"), 2);
  EXPECT_EQ(CountOf(*split->item, "concat"), 1);  // of the weights of the first order
}

TEST(UserSplit, ColumnsOfTheUserThatComeLaterStayWithTheItems) {
  TestProgram program(kOrdered);
  const auto whole = Ordered(program);
  if (whole == nullptr) GTEST_SKIP() << "no ordered products for this processor";
  const auto split = SplitByUser(program.flat(), *whole, {false, true, false});
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(CountOf(*split->user, "matmul_in_order"), 0);
  EXPECT_EQ(CountOf(*split->item, "matmul_in_order"), 1);
}

TEST(UserSplit, AProductOfAProductThatWasTakenApartIsOneToo) {
  TestProgram program(R"(program p
one = linear(4, 3, bias=false)
two = linear(5, 1, bias=false)
fn infer(user: f32[B, 2], item: f32[B, 2]) -> f32[B, 1] {
  return two(concat(user, one(concat(user, item, axis=1)), axis=1))
}
)");
  const auto split =
      SplitByUser(program.flat(), program.Get("infer"), {true, false}, /*products=*/true);
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(CountOf(*split->user, "matmul"), 2);
  EXPECT_EQ(CountOf(*split->item, "matmul"), 2);
}

TEST(UserSplit, WhereNothingIsWorthItThereIsNone) {
  TestProgram program(R"(program p
fc = linear(4, 1)
fn infer(user: f32[B, 2], item: f32[B, 2]) -> f32[B] {
  return reshape(fc(concat(user * 2.0, item, axis=1)), [B])
}
)");
  EXPECT_EQ(SplitByUser(program.flat(), program.Get("infer"), {true, false}), nullptr);
  EXPECT_EQ(SplitByUser(program.flat(), program.Get("infer"), {false, false}), nullptr);
}

TEST(UserSplit, WhatCannotBeHandedOverIsComputedForEachItem) {
  // The looked-up history is ragged: not handed over, so its pooling with the item stays behind.
  TestProgram program(R"(program p
table @t : u64 -> f32[4] = normal(std=1.0) { optimizer = adagrad(lr=0.1) }
fc = linear(4, 4)
fn infer(history: u64[B, *T], item: u64[B], about: f32[B, 4]) -> f32[B] {
  e = lookup(@t, history)
  target = ragged_expand(lookup(@t, item), e)
  return sum(ragged_pool(e * target, pool=sum) + fc(about), axes=[1])
}
)");
  const auto split = SplitByUser(program.flat(), program.Get("infer"), {true, false, true});
  ASSERT_NE(split, nullptr);
  EXPECT_THAT(OpsOf(*split->user), Not(Contains("lookup")));
  EXPECT_THAT(split->item_arguments, ElementsAre(0, 1));
}

}  // namespace
}  // namespace catamaran

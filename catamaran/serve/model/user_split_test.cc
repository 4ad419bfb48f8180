#include "catamaran/serve/model/user_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/nn/program_test_util.h"

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
    const Tensor& row = user.outputs[i];
    std::vector<float> twice(row.data<float>().begin(), row.data<float>().end());
    twice.insert(twice.end(), row.data<float>().begin(), row.data<float>().end());
    Shape shape = row.shape();
    shape.Set(0, 2);
    feeds[split->user->output_name(i)] = Tensor::FromVector<float>(shape, twice);
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

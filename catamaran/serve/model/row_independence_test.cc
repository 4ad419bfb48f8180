#include "catamaran/serve/model/row_independence.h"

#include <gtest/gtest.h>

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

namespace catamaran {
namespace {

// Of the function `infer`; what stands in `body` is a program without its first line.
RowIndependence Of(const std::string& body) {
  const auto ops = StandardOps();
  const auto builders = StandardBuilders();
  const Program flat = Flatten(Parse("program p\n" + body, "p.ctm", ops, *builders), *builders);
  return FindRowIndependence(*InlineCalls(flat, *flat.items.FindFunction("infer")));
}

RowIndependence OfReturned(const std::string& expression) {
  return Of(
      "param @w : f32[4, 4] = normal\nfn infer(x: f32[B, 4], y: f32[B, 3, 4]) -> f32[B, 4] { "
      "return " +
      expression + " }");
}

TEST(RowIndependence, ModelsThatWorkRowByRowAreFound) {
  const RowIndependence found = Of(R"(
table @feat : u64 -> f32[16] = normal(std=0.01) { optimizer = adagrad(lr=0.1) }
fc1 = linear(429, 8)
bn = norm(8, kind=batch)
fc2 = linear(8, 1)
fn infer(ids: u64[B, 26], dense: f32[B, 13]) -> f32[B] {
  e = lookup(@feat, ids)
  x = concat(reshape(e, [B, 416]), dense, axis=1)
  return sigmoid(reshape(fc2(bn(relu(fc1(x)))), [B]))
})");
  EXPECT_EQ(found.rows, "B") << found.reason;
}

TEST(RowIndependence, RaggedHistoriesArePooledRowByRow) {
  const RowIndependence found = Of(R"(
table @t : u64 -> f32[4] = normal { optimizer = adagrad(lr=0.1) }
fn infer(history: u64[N, *T], item: u64[N]) -> f32[N] {
  h = ragged_pool(lookup(@t, history), pool=mean)
  return sum(h * lookup(@t, item), axes=[1])
})");
  EXPECT_EQ(found.rows, "N") << found.reason;
}

TEST(RowIndependence, SequencesAndLoopsArePossible) {
  for (const char* expression : {
           "matmul(x, @w)",
           "mean(y, axes=[1])",
           "mean(reshape(matmul(reshape(y, [B*3, 4]), @w), [B, 3, 4]), axes=[1])",
           "softmax(x, axis=1)",
           "softmax(x, axis=-1) + mean(@w, axes=[0])",
           "einsum(x, y, equation=\"bi,bji->bi\")",
           "reshape(slice(y, axis=1, begin=1, end=2), [B, 4])",
           "for i in range(3) with (h = x) { yield tanh(matmul(h, @w)) }",
       }) {
    const RowIndependence found = OfReturned(expression);
    EXPECT_EQ(found.rows, "B") << expression << ": " << found.reason;
  }
}

TEST(RowIndependence, WhereRowsMeetTheyAreNotPutTogether) {
  for (const char* expression : {
           "softmax(x, axis=0)",
           "softmax(x, axis=-2)",
           "x - mean(x)",
           "x - mean(x, axes=[0])",
           "x - mean(x, axes=[0], keepdims=true)",
           "cumsum(x, axis=0)",
           "flip(x, axes=[0])",
           "concat(x, x, axis=0)",
           "matmul(softmax(matmul(x, transpose(x)), axis=1), x)",
           "x + uniform(key(), [B, 4])",

       }) {
    const RowIndependence found = OfReturned(expression);
    EXPECT_EQ(found.rows, "") << expression;
    EXPECT_FALSE(found.reason.empty()) << expression;
  }
}

// Most of them are for single rows; that they are found to be keeps the rules honest.
TEST(RowIndependence, ModelsOfTheZooAreServedTogether) {
  const auto ops = StandardOps();
  const auto builders = StandardBuilders();
  for (const char* path : {
           "models/adult/income.ctm",
           "models/bank/subscription.ctm",
           "models/cifar10/mobilenet_v2.ctm",
           "models/cifar10/resnet20.ctm",
           "models/flights/late.ctm",
           "models/imagenet/resnet50.ctm",
           "models/images/fashion_resnet.ctm",
           "models/images/lenet5.ctm",
           "models/images/mlp.ctm",
           "models/movielens/dcn.ctm",
           "models/movielens/deepfm.ctm",
           "models/movielens/din.ctm",
           "models/movielens/dlrm.ctm",
           "models/movielens/fm.ctm",
           "models/movielens/lr.ctm",
           "models/movielens/wide_deep.ctm",
           "models/news/bag.ctm",
           "models/taxi/tip.ctm",
           "models/text/gpt.ctm",
       }) {
    const Program flat = Flatten(ParseFile(PosixFileSystem(), path, ops, *builders), *builders);
    const auto* infer = flat.items.FindFunction("infer");
    ASSERT_NE(infer, nullptr) << path;
    const RowIndependence found = FindRowIndependence(*InlineCalls(flat, *infer));
    EXPECT_EQ(found.rows, "B") << path << ": " << found.reason;
  }
}

TEST(RowIndependence, ResultsAndArgumentsWithoutRowsSayWhich) {
  EXPECT_EQ(Of("fn infer(x: f32[B, 4], t: f32[]) -> f32[B, 4] { return x * t }").reason,
            "argument t : f32[] has no rows");
  EXPECT_EQ(Of("fn infer(x: f32[B, 4]) -> f32[] { return mean(x) }").reason,
            "a result is f32[], which does not begin with B");
  EXPECT_EQ(Of("fn infer(x: f32[B, 4], y: f32[N, 4]) -> f32[B, 4] { return x }").reason,
            "argument y : f32[N, 4] does not begin with B");
  EXPECT_EQ(Of("fn infer(x: f32[4, 4]) -> f32[4, 4] { return x }").reason,
            "argument x : f32[4, 4] has no rows");
}

}  // namespace
}  // namespace catamaran

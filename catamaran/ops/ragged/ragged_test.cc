// Programs over sequences of different length: what the walk over the op set cannot see, because
// it looks at one op at a time and not at offsets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "catamaran/base/error.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

std::shared_ptr<const OpSet> AllOps() {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto set = std::make_shared<OpSet>();
    DefineAllOps(*set);
    return set;
  }();
  return ops;
}

// The body of a function with these parameters, run; its text also goes there and back.
std::vector<Tensor> RunBody(const std::string& parameters, const std::string& body,
                            const std::vector<RunnerValue>& arguments) {
  const std::string text = "program p\nfn f(" + parameters + ") {\n" + body + "}\n";
  const Program program = Parse(text, "p.ctm", AllOps(), BuilderSet());
  const Program flat = Flatten(program, BuilderSet());
  const Program again =
      Flatten(Parse(Print(program), "p.ctm", AllOps(), BuilderSet()), BuilderSet());
  std::string why;
  EXPECT_TRUE(Equal(flat, again, &why)) << why;
  return RunStraight(*flat.items.FindFunction("f"), arguments, {DetectIsa(), "", nullptr});
}

std::string ErrorOf(const std::string& parameters, const std::string& body,
                    const std::vector<RunnerValue>& arguments = {}) {
  try {
    RunBody(parameters, body, arguments);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// 1 … 6 as sequences of 3, 0 and 3 numbers.
RunnerValue Sequences() { return {Floats({6}, {1, 2, 3, 4, 5, 6}), {3, 0, 3}}; }

TEST(Ragged, IsMadeOfValuesAndLengthsAndTakenApart) {
  const auto y = RunBody("v: f32[N, 2], n: i64[B]",
                         "  x = ragged(v, n)\n"
                         "  y = ragged_from_offsets(v, ragged_offsets(x))\n"
                         "  return ragged_lengths(x), ragged_offsets(x), ragged_values(x + x), "
                         "ragged_lengths(y)\n",
                         {{Floats({3, 2}, {1, 2, 3, 4, 5, 6})}, {Ints({3}, {2, 0, 1})}});
  EXPECT_TRUE(y[0].Equals(Ints({3}, {2, 0, 1}))) << y[0];
  EXPECT_TRUE(y[1].Equals(Ints({4}, {0, 2, 2, 3}))) << y[1];
  EXPECT_TRUE(y[2].Equals(Floats({3, 2}, {2, 4, 6, 8, 10, 12}))) << y[2];
  EXPECT_TRUE(y[3].Equals(Ints({3}, {2, 0, 1}))) << y[3];
}

TEST(Ragged, LengthsThatDoNotAddUpAreNamed) {
  const std::string one = "v: f32[N], n: i64[B]", body = "  return ragged(v, n)\n";
  const RunnerValue v{Floats({3}, {1, 2, 3})};
  EXPECT_THAT(ErrorOf(one, body, {v, {Ints({2}, {2, 2})}}),
              HasSubstr("the lengths add up to 4, there are 3 values"));
  EXPECT_THAT(ErrorOf(one, body, {v, {Ints({2}, {-1, 4})}}),
              HasSubstr("the length -1 of sequence 0 is not within 0 and 3"));
  const std::string from = "  return ragged_from_offsets(v, n)\n";
  EXPECT_THAT(ErrorOf(one, from, {v, {Ints({2}, {1, 3})}}), HasSubstr("the first offset is 0"));
  EXPECT_THAT(ErrorOf(one, from, {v, {Ints({3}, {0, 2, 1})}}), HasSubstr("offsets do not fall"));
  EXPECT_THAT(ErrorOf(one, from, {v, {Ints({2}, {0, 2})}}),
              HasSubstr("the last offset is 2, there are 3 values"));
}

TEST(Ragged, PaddingAndBackIsTheSame) {
  const auto y = RunBody("x: f32[B, *T]",
                         "  p = ragged_pad(x, length=4, value=-1)\n"
                         "  u = ragged_unpad(p, ragged_lengths(x))\n"
                         "  cut = ragged_unpad_like(ragged_pad(x, length=2), x)\n"
                         "  return p, ragged_values(u), ragged_lengths(u), cut\n",
                         {Sequences()});
  EXPECT_TRUE(y[0].Equals(Floats({3, 4}, {1, 2, 3, -1, -1, -1, -1, -1, 4, 5, 6, -1}))) << y[0];
  EXPECT_TRUE(y[1].Equals(Sequences().tensor)) << y[1];
  EXPECT_TRUE(y[2].Equals(Ints({3}, {3, 0, 3}))) << y[2];
  EXPECT_TRUE(y[3].Equals(Floats({6}, {1, 2, 0, 4, 5, 0}))) << y[3];
  EXPECT_THAT(
      ErrorOf("x: f32[B, *T]", "  return ragged_pad(x, length=2, truncate=false)\n", {Sequences()}),
      HasSubstr("sequence 0 has 3 elements, more than the length 2"));
  EXPECT_THAT(ErrorOf("x: f32[B, L], n: i64[B]", "  return ragged_unpad(x, n)\n",
                      {{Floats({1, 2}, {1, 2})}, {Ints({1}, {3})}}),
              HasSubstr("the length 3 of sequence 0 is not within 0 and 2"));
}

TEST(Ragged, PiecesAreCutAndJoined) {
  const auto y = RunBody("x: f32[B, *T], b: i64[B]",
                         "  head = ragged_slice(x, end=1)\n"
                         "  tail = ragged_slice(x, begin=1)\n"
                         "  all = ragged_concat(head, tail)\n"
                         "  twice = ragged_concat(head, x, axis=0)\n"
                         "  own = ragged_slice(x, begins=b)\n"
                         "  return ragged_values(all), ragged_offsets(all), ragged_lengths(twice), "
                         "ragged_values(twice), ragged_values(own), ragged_lengths(own)\n",
                         {Sequences(), {Ints({3}, {-1, 0, 2})}});
  EXPECT_TRUE(y[0].Equals(Sequences().tensor)) << y[0];
  EXPECT_TRUE(y[1].Equals(Ints({4}, {0, 3, 3, 6}))) << y[1];
  EXPECT_TRUE(y[2].Equals(Ints({6}, {1, 0, 1, 3, 0, 3}))) << y[2];
  EXPECT_TRUE(y[3].Equals(Floats({8}, {1, 4, 1, 2, 3, 4, 5, 6}))) << y[3];
  EXPECT_TRUE(y[4].Equals(Floats({2}, {3, 6}))) << y[4];
  EXPECT_TRUE(y[5].Equals(Ints({3}, {1, 0, 1}))) << y[5];
}

TEST(Ragged, SequencesAndElementsAreChosen) {
  const auto y = RunBody("x: f32[B, *T], rows: i64[K], at: i64[K]",
                         "  g = ragged_gather(x, rows)\n"
                         "  return ragged_values(g), ragged_lengths(g), ragged_take(g, at), "
                         "ragged_values(ragged_reverse(g)), ragged_values(ragged_cumsum(x))\n",
                         {Sequences(), {Ints({2}, {2, 0})}, {Ints({2}, {0, -1})}});
  EXPECT_TRUE(y[0].Equals(Floats({6}, {4, 5, 6, 1, 2, 3}))) << y[0];
  EXPECT_TRUE(y[1].Equals(Ints({2}, {3, 3}))) << y[1];
  EXPECT_TRUE(y[2].Equals(Floats({2}, {4, 3}))) << y[2];
  EXPECT_TRUE(y[3].Equals(Floats({6}, {6, 5, 4, 3, 2, 1}))) << y[3];
  EXPECT_TRUE(y[4].Equals(Floats({6}, {1, 3, 6, 4, 9, 15}))) << y[4];
  const std::string gather = "x: f32[B, *T], rows: i64[K]";
  EXPECT_THAT(ErrorOf(gather, "  return ragged_gather(x, rows)\n", {Sequences(), {Ints({1}, {3})}}),
              HasSubstr("row 3 at position 0 is outside of the 3 sequences"));
  EXPECT_THAT(ErrorOf(gather, "  return ragged_gather(x, rows, limit=4)\n",
                      {Sequences(), {Ints({2}, {0, 0})}}),
              HasSubstr("the chosen sequences have 6 elements, more than the limit 4"));
  EXPECT_THAT(ErrorOf("x: f32[B, *T], at: i64[B]", "  return ragged_take(x, at)\n",
                      {Sequences(), {Ints({3}, {0, 0, 0})}}),
              HasSubstr("index 0 is outside of sequence 1, which has 0 elements"));
}

TEST(Ragged, DroppedIdsTakeWhatBelongsToThemAlong) {
  const auto y =
      RunBody("ids: i64[B, 3], w: f32[B, 3]",
              "  a, b = ragged_drop(ids, w, value=0)\n"
              "  return ragged_values(a), ragged_values(b), ragged_lengths(b)\n",
              {{Ints({2, 3}, {0, 4, 5, 0, 0, 6})}, {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_TRUE(y[0].Equals(Ints({3}, {4, 5, 6}))) << y[0];
  EXPECT_TRUE(y[1].Equals(Floats({3}, {2, 3, 6}))) << y[1];
  EXPECT_TRUE(y[2].Equals(Ints({2}, {2, 1}))) << y[2];
}

// What a sequence model is made of, on sequences of decided length as on those that came in.
TEST(Ragged, RowwiseOpsLift) {
  const Tensor v = Uniform({6, 4}, -1, 1);
  const Tensor w = Uniform({4, 3}, -1, 1, 2);
  const auto y =
      RunBody("x: f32[B, *T, 4], w: f32[4, 3], s: f32[4], o: f32[4], v: f32[N, 4], n: i64[B]",
              "  r = ragged(v, n)\n"
              "  a = ragged_values(relu(matmul(layer_norm(x, s, o), w)))\n"
              "  b = ragged_values(relu(matmul(layer_norm(r, s, o), w)))\n"
              "  c = ragged_values(softmax(concat(x, x * 2, axis=2)))\n"
              "  d = softmax(concat(v, v * 2, axis=1))\n"
              "  e = ragged_pool(r * ragged_expand(ragged_pool(r, pool=max), r), pool=last)\n"
              "  return a, b, c, d, e\n",
              {{v, {3, 0, 3}},
               {w},
               {Uniform({4}, 0, 1)},
               {Uniform({4}, 0, 1, 2)},
               {v},
               {Ints({3}, {3, 0, 3})}});
  EXPECT_TRUE(y[0].Equals(y[1]));
  EXPECT_TRUE(y[2].Equals(y[3]));
  EXPECT_EQ(y[4].shape(), Shape({3, 4}));
  for (size_t i = 4; i < 8; ++i) EXPECT_EQ(y[4].data<float>()[i], 0);  // of the empty sequence
}

TEST(Ragged, ValuesOfDifferentLengthsDoNotMeet) {
  EXPECT_THAT(ErrorOf("v: f32[N], n: i64[B], m: i64[B]", "  return ragged(v, n) + ragged(v, m)\n"),
              HasSubstr("ragged dimensions differ"));
  EXPECT_THAT(ErrorOf("x: f32[B, T]", "  return ragged_values(x)\n"),
              HasSubstr("wants a ragged value such as f32[B, *T, 16], found f32[B, T]"));
  EXPECT_THAT(
      ErrorOf("x: f32[B, *T, 2], y: f32[B, *S, 2]", "  return ragged_concat(x, y, axis=2)\n"),
      HasSubstr("concat joins along the others"));
}

TEST(Ragged, TypesSayWhichLengthsBelongTogether) {
  const Program flat = Flatten(Parse(R"(program p
fn f(x: f32[B, *T, 4], q: f32[B, 8]) {
  return ragged_values(x), ragged_offsets(x), ragged_expand(q, x), ragged_pad(x, length=7)
}
)",
                                     "p.ctm", AllOps(), BuilderSet()),
                               BuilderSet());
  const auto& results = flat.items.FindFunction("f")->results;
  EXPECT_EQ(results[0].type.ToString(), "f32[T, 4]");
  EXPECT_EQ(results[1].type.ToString(), "i64[B+1]");
  EXPECT_EQ(results[2].type.ToString(), "f32[B, *T, 8]");
  EXPECT_EQ(results[3].type.ToString(), "f32[B, 7, 4]");
}

}  // namespace
}  // namespace catamaran

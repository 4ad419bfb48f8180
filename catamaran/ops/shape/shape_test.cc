// What the walk over the op set does not see: errors when an op runs, ops with a number of results
// that their use decides in text, C++ and flattened programs, and large moves.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "catamaran/base/error.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ir/program_builder.h"
#include "catamaran/ir/proto.h"
#include "catamaran/ops/functions.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

std::shared_ptr<const OpSet> AllOps() {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto set = std::make_shared<OpSet>();
    DefineAllOps(*set);
    return set;
  }();
  return ops;
}

Program Flat(const std::string& text) {
  BuilderSet builders;
  return Flatten(Parse(text, "test.ctm", AllOps(), builders), builders);
}

std::vector<Tensor> RunText(const std::string& text, std::vector<RunnerValue> arguments,
                            RunnerOptions options = {}) {
  const Program program = Flat(text);
  return RunStraight(*program.items.FindFunction("f"), arguments, options);
}

// The message of the error that this text gives, when it is checked or runs.
std::string ErrorOf(const std::string& text, const std::vector<RunnerValue>& arguments = {}) {
  try {
    RunText(text, arguments);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(Shape, SplitInTextYieldsAsManyPartsAsAreNamed) {
  const std::string text = R"(program p
fn f(x: f32[2, 6]) {
  a, b, c = split(x, axis=1)
  d, e = split(b, sizes=[1, 1])
  return a, c, d, e
}
)";
  const std::vector<Tensor> got = RunText(text, {{Uniform({2, 6}, -1, 1)}});
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(got[3].shape(), (Shape{1, 2}));
  EXPECT_EQ(got[0].data<float>()[2], Uniform({2, 6}, -1, 1).data<float>()[6]);

  const Program flat = Flat(text);
  const Program back = FromProtoBytes(ToProtoBytes(flat), AllOps(), "test");
  std::string why;
  EXPECT_TRUE(Equal(flat, back, &why)) << why;
  BuilderSet builders;
  EXPECT_EQ(Print(Parse(Print(flat), "test.ctm", AllOps(), builders)), Print(flat));
}

TEST(Shape, PartsWithoutANameForEachAreRefusedWithTheLine) {
  EXPECT_SAYS(
      ErrorOf("program p\nfn f(x: f32[2, 5]) {\n  a, b = split(x, axis=1)\n  return a\n}\n"),
      "test.ctm:3: split");
  EXPECT_SAYS(
      ErrorOf("program p\nfn f(x: f32[2, 5]) {\n  a, b = unstack(x, axis=1)\n  return a\n}\n"),
      "test.ctm:3: unstack");
  EXPECT_SAYS(ErrorOf("program p\nfn f(x: f32[5]) {\n  a, b = meshgrid(x)\n  return a\n}\n"),
              "has 1 results");
}

TEST(Shape, ExpressionsTakeTheOnePartOfASplit) {
  const auto got = RunText("program p\nfn f(x: f32[2, 3]) {\n  return neg(split(x))\n}\n",
                           {{Uniform({2, 3}, 1, 2)}});
  EXPECT_EQ(got[0].shape(), (Shape{2, 3}));
}

TEST(Shape, CppFunctionsOfSuchOpsReturnAVector) {
  BuilderSet builders;
  ProgramBuilder p("p", AllOps(), builders);
  auto f = p.Function("f");
  Var x = f.Param("x", "f32[2, 6]");
  const std::vector<Var> parts = Split(3, x, {.axis = 1});
  ASSERT_EQ(parts.size(), 3u);
  const std::vector<Var> grid = Meshgrid(1, {Reshape(parts[1], "[4]")});
  f.Return(Stack({parts[0], parts[2]}));
  EXPECT_EQ(grid.size(), 1u);
  EXPECT_EQ(p.Flatten().items.FindFunction("f")->results[0].type.ToString(), "f32[2, 2, 2]");
}

TEST(Shape, AnIndexOutsideNamesItselfItsPlaceAndTheBound) {
  const Tensor x = Uniform({4, 3}, -1, 1);
  const auto message = [&](const std::string& call, const Tensor& indices) {
    return ErrorOf(
        fmt::format("program p\nfn f(x: f32[4, 3], i: {}[{}]) {{\n  return {}\n}}\n",
                    Name(indices.dtype()), indices.shape().rank() == 1 ? "3" : "4, 1", call),
        {{x}, {indices}});
  };
  for (const char* call : {"gather(x, i)", "index_select(x, i)", "scatter_grad(x, i)"}) {
    EXPECT_SAYS(message(call, Ints({3}, {1, 4, 0})),
                "index 4 at position 1 is outside of the axis of 4");
    EXPECT_SAYS(message(call, Ints({3}, {1, 2, -1}, DType::kI32)),
                "index -1 at position 2 is outside of the axis of 4");
    EXPECT_SAYS(message(call, Ints({3}, {-1, 2, 1}, DType::kU64)),
                "index 18446744073709551615 at position 0 is outside of the axis of 4");
  }
  EXPECT_SAYS(message("one_hot(i, size=4)", Ints({3}, {0, 0, 7})),
              "index 7 at position 2 is outside of the axis of 4");
  EXPECT_SAYS(message("take_along(x, i)", Ints({4, 1}, {0, 1, 2, 3})),
              "index 3 at position 3 is outside of the axis of 3");
  EXPECT_SAYS(message("gather_nd(x, i)", Ints({4, 1}, {0, 1, 4, 3})),
              "index 4 at position 0 of tuple 2 is outside of the axis of 4");
}

TEST(Shape, OfEqualIndicesTheLastUpdateWins) {
  const auto got =
      RunText("program p\nfn f(x: f32[3], i: i64[3], u: f32[3]) {\n  return scatter(x, i, u)\n}\n",
              {{Floats({3}, {1, 2, 3})}, {Ints({3}, {1, 1, 0})}, {Floats({3}, {10, 20, 30})}});
  EXPECT_TRUE(got[0].Equals(Floats({3}, {30, 20, 3})));
}

TEST(Shape, ACutThatLeavesTheAxisIsRefused) {
  EXPECT_SAYS(ErrorOf("program p\nfn f(x: f32[5]) {\n"
                      "  return strided_slice(x, begin=[1], size=[3], step=[2])\n}\n"),
              "entries 1 to 5 are not within axis 0 of size 5");
  EXPECT_SAYS(ErrorOf("program p\nfn f(x: f32[B]) {\n"
                      "  return strided_slice(x, begin=[1], size=[3], step=[2])\n}\n",
                      {{Uniform({5}, -1, 1)}}),
              "entries 1 to 5 are not within axis 0 of size 5");
}

TEST(Shape, NegativeStepsWithNamedSizesReverse) {
  const auto got = RunText(
      "program p\nfn f(x: f32[B]) -> f32[(B+1)/2] {\n  return strided_slice(x, step=[-2])\n}\n",
      {{Floats({5}, {1, 2, 3, 4, 5})}});
  EXPECT_TRUE(got[0].Equals(Floats({3}, {5, 3, 1})));
}

TEST(Shape, MakersTakeSizesByName) {
  const auto got = RunText(R"(program p
fn f(x: f32[B, 2], v: f32[]) {
  return iota(B, start=1, step=2, dtype=i32), eye(B), fill([B, 2], x=v), fill(shape=[B], value=3), one_hot(iota(B), size=B)
}
)",
                           {{Uniform({3, 2}, -1, 1)}, {Floats({}, {7})}});
  EXPECT_TRUE(got[0].Equals(Ints({3}, {1, 3, 5}, DType::kI32))) << got[0];
  EXPECT_TRUE(got[1].Equals(Floats({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}))) << got[1];
  EXPECT_TRUE(got[2].Equals(Floats({3, 2}, {7, 7, 7, 7, 7, 7}))) << got[2];
  EXPECT_TRUE(got[3].Equals(Floats({3}, {3, 3, 3}))) << got[3];
  EXPECT_TRUE(got[4].Equals(got[1])) << got[4];
}

// Every permutation of four axes, in every width, against the plain meaning; large enough that
// threads and all kinds of tiles take part.
TEST(Shape, TransposesOfAllPermutationsMoveEveryElement) {
  ThreadPool pool(3);
  for (const DType dtype : {DType::kI8, DType::kBF16, DType::kI32, DType::kI64}) {
    const Tensor x = Cast(RandomInts({5, 34, 3, 67}, -99, 99), dtype);
    std::vector<int> perm(4);
    std::iota(perm.begin(), perm.end(), 0);
    do {
      const std::string text = fmt::format(
          "program p\nfn f(x: {}[5, 34, 3, 67]) {{\n  return transpose(x, [{}, {}, {}, {}])\n}}\n",
          Name(dtype), perm[0], perm[1], perm[2], perm[3]);
      RunnerOptions reference;
      reference.kernel = "reference";
      const Tensor wanted = RunText(text, {{x}}, reference)[0];
      for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
        const Tensor got = RunText(text, {{x}}, {static_cast<Isa>(isa), "", &pool})[0];
        EXPECT_TRUE(got.Equals(wanted)) << text << IsaName(static_cast<Isa>(isa));
      }
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST(Shape, ConcatAndSplitOfManyPartsAreInverse) {
  std::string names, args;
  for (int i = 0; i < 70; ++i) names += fmt::format("{}p{}", i == 0 ? "" : ", ", i);
  const Tensor x = Uniform({300, 140}, -1, 1);
  ThreadPool pool(3);
  const Tensor got =
      RunText(fmt::format("program p\nfn f(x: f32[300, 140]) {{\n  {} = split(x, axis=1)\n"
                          "  return concat({}, axis=1)\n}}\n",
                          names, names),
              {{x}}, {DetectIsa(), "", &pool})[0];
  EXPECT_TRUE(got.Equals(x));
}

}  // namespace
}  // namespace catamaran

// What the verifier and the type rules refuse, with the line.

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

struct Case {
  const char* name;
  const char* text;
  const char* at;       // must appear
  const char* message;  // must appear
};

const Case kCases[] = {
    {"RecursionIsRefused", "program t\nfn f(x: f32[N]) -> f32[N] {\n  return f(x)\n}\n",
     "test.ctm:3", "recursion is not supported"},
    {"AStateIsWrittenOnce",
     "program t\nvar @n : i64[] = 0\nfn f(x: i64[]) -> i64[] {\n  write(@n, x)\n  write(@n, x)\n"
     "  return x\n}\n",
     "test.ctm:5", "@n is written twice"},
    {"ASecondWriteThroughACallIsFound",
     "program t\nvar @n : i64[] = 0\nfn g(x: i64[]) -> i64[] {\n  write(@n, x)\n  return x\n}\n"
     "fn f(x: i64[]) -> i64[] {\n  write(@n, x)\n  return g(x)\n}\n",
     "test.ctm:8", "test.ctm:4"},
    {"EffectsMayNotSitInALoopEvenThroughACall",
     "program t\nvar @n : i64[] = 0\nfn g(x: i64[]) -> i64[] {\n  write(@n, x)\n  return x\n}\n"
     "fn f(x: i64[]) -> i64[] {\n  y = for i in range(3) with (y = x) {\n    yield g(y)\n  }\n"
     "  return y\n}\n",
     "test.ctm:9", "loop or branch"},
    {"DimensionsThatCannotBeEqualAreRefused",
     "program t\nfn f(x: f32[N], y: f32[N + 1]) -> f32[N] {\n  return x + y\n}\n", "test.ctm:3",
     "dimensions differ: N and N+1"},
    {"ResultsMustHaveTheDeclaredType",
     "program t\nfn f(x: f32[N, 3]) -> f32[N, 4] {\n  return x\n}\n", "test.ctm:3", "f32[N, 4]"},
    {"CallsCheckTheirArguments",
     "program t\nfn g(x: f32[N, 3]) -> f32[N, 3] { return x }\nfn f(x: f32[N, 4]) -> f32[N, 3] {\n"
     "  return g(x)\n}\n",
     "test.ctm:4", "argument x of g differ: 3 and 4"},
    {"LoopsCarryOneType",
     "program t\nfn f(x: f32[3]) -> f32[3] {\n  y = for i in range(2) with (y = x) {\n"
     "    yield concat(y, y, axis=0)\n  }\n  return y\n}\n",
     "test.ctm:3", "f32[3] and f32[6]"},
    {"RaggedNeedsAnOpThatUnderstandsIt",
     "program t\nfn f(x: f32[B, *T, 3]) -> f32[3, 3] {\n  return matmul(x, x)\n}\n", "test.ctm:3",
     "ragged"},
    {"DTypesDoNotMix", "program t\nfn f(x: f32[3], y: i64[3]) -> f32[3] {\n  return x + y\n}\n",
     "test.ctm:3", "dtypes differ"},
    {"APushNeedsATableWithAnOptimizer",
     "program t\ntable @t : u64 -> f32[2] = zeros\nfn f(ids: u64[B], g: f32[B, 2]) -> f32[B, 2] {\n"
     "  push(@t, lookup_rows(ids, g))\n  return g\n}\n",
     "test.ctm:4", "@t declares no optimizer"},
    {"StateShapesAreConstant", "program t\nparam @w : f32[N] = zeros\n", "test.ctm:2", "N"},
};

TEST(Verifier, RefusesWithTheUsersLine) {
  for (const Case& c : kCases) {
    const std::string error = ErrorOf(c.text);
    EXPECT_NE(error.find(c.at), std::string::npos) << c.name << ":\n" << error;
    EXPECT_NE(error.find(c.message), std::string::npos) << c.name << ":\n" << error;
  }
}

TEST(Verifier, ReportsSeveralMistakesInOneGo) {
  const std::string error = ErrorOf(R"(program t
param @w : f32[3, 4] = zeros
fn f(x: f32[B, 5]) -> f32[B, 4] { return matmul(x, @w) }
fn g(x: f32[B, 6]) -> f32[B, 4] { return matmul(x, @w) }
)");
  EXPECT_NE(error.find("test.ctm:3"), std::string::npos) << error;
  EXPECT_NE(error.find("test.ctm:4"), std::string::npos) << error;
}

TEST(Verifier, ReportsOnlyTheMistakeAndNotWhatDependsOnIt) {
  const std::string error = ErrorOf(R"(program t
fc = linear(3, 4, rank=99)
fn f(x: f32[B, 3]) -> f32[B, 4] { return fc(x) }
fn loss(x: f32[B, 3]) -> f32[] { return sum(f(x)) + sum(@fc.w) }
train = sgd(grad(loss), lr=0.1)
)");
  EXPECT_EQ(error.find("test.ctm:3"), std::string::npos) << error;
  EXPECT_EQ(error.find("test.ctm:4"), std::string::npos) << error;
  EXPECT_EQ(error.find("test.ctm:5"), std::string::npos) << error;
  EXPECT_NE(error.find("test.ctm:2"), std::string::npos) << error;
}

TEST(Verifier, WhatItCannotDecideIsCheckedWhenItRuns) {
  TestProgram p(R"(program t
fn f(x: f32[N], y: f32[M]) -> f32[N] {
  return x + y
}
)");
  const Tensor three = Tensor::From<float>(Shape({3}), std::vector<float>{1, 2, 3});
  const Tensor two = Tensor::From<float>(Shape({2}), std::vector<float>{1, 2});
  EXPECT_NO_THROW(p.Run("f", {{"x", three}, {"y", three}}));
  try {
    p.Run("f", {{"x", three}, {"y", two}});
    FAIL();
  } catch (const Error& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("test.ctm:3"), std::string::npos) << message;
    EXPECT_NE(message.find("3"), std::string::npos) << message;
  }
}

TEST(Effects, PureFunctionsChangeNothing) {
  TestProgram p(R"(program t
var @n : i64[] = 0
fn count(x: i64[]) -> i64[] {
  write(@n, @n + x)
  return @n
}
fn outer(x: i64[]) -> i64[] { return count(x) }
)");
  const Tensor two = Tensor::Scalar<int64_t>(2);
  EXPECT_FALSE(p.Run("outer.pure", {{"x", two}}).committed);
  EXPECT_EQ(p.state().GetTensor("n").data<int64_t>()[0], 0);
  EXPECT_TRUE(p.Run("outer", {{"x", two}}).committed);
  EXPECT_EQ(p.state().GetTensor("n").data<int64_t>()[0], 2);
  const Effects e = InferEffects(p.flat(), *p.flat().items.FindFunction("outer"));
  EXPECT_EQ(e.reads, std::vector<std::string>{"n"});
  EXPECT_EQ(e.writes, std::vector<std::string>{"n"});
}

}  // namespace
}  // namespace catamaran

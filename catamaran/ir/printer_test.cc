#include "catamaran/ir/printer.h"

#include <gtest/gtest.h>

#include "catamaran/ir/emitter.h"
#include "catamaran/ir/text_samples.h"

namespace catamaran {
namespace {

using testing::ParseSample;

// Parses, prints, parses and prints again; returns the first text.
std::string RoundTrip(std::string_view text) {
  Program first = ParseSample(text);
  const std::string printed = Print(first);
  Program second = ParseSample(printed);
  std::string why;
  EXPECT_TRUE(Equal(first, second, &why)) << why << "\n" << printed;
  EXPECT_EQ(Print(second), printed);
  return printed;
}

std::string Body(const std::string& body,
                 const std::string& header = "fn f(x: f32[B], y: f32[B], c: bool[])") {
  const std::string printed =
      RoundTrip("program p\nparam @w : f32[3]\n" + header + " {\n" + body + "\n}\n");
  const size_t begin = printed.find("{\n") + 2;
  return printed.substr(begin, printed.rfind("}") - begin);
}

TEST(Printer, SamplesComeBackEqual) {
  for (std::string_view text : testing::TextSamples()) RoundTrip(text);
}

TEST(Printer, TheProgramOfTheDesignPrintsAsWritten) {
  EXPECT_EQ(RoundTrip(testing::kCtrProgram), R"(program ctr

table @feat : u64 -> f32[16] = normal(std=0.01) {
  optimizer = rowwise_adagrad(lr=0.05)
  admit = count(3)
  expire = unseen(days=30)
}
fc1 = linear(429, 400)
fc2 = linear(400, 1)

fn infer(ids: u64[B, 26], dense: f32[B, 13]) -> f32[B] {
  e = lookup(@feat, ids)
  x = concat(reshape(e, [B, 416]), dense, axis=1)
  return sigmoid(reshape(fc2(relu(fc1(x))), [B]))
}

fn loss(ids: u64[B, 26], dense: f32[B, 13], label: f32[B]) -> f32[] {
  commit {
    observe(@feat, ids, show=1, click=label)
  }
  return mean(binary_cross_entropy(infer(ids, dense), label))
}

train = adam(clip(grad(loss), norm=1.0), lr=0.001)
)");
}

TEST(Printer, BracketsStandOnlyWhereNeeded) {
  EXPECT_EQ(Body("  return (x + y) * x - (x - (y - x)), ((x * y) / x)\n"),
            "  return (x + y) * x - (x - (y - x)), x * y / x\n");
  EXPECT_EQ(Body("  return -(x + y), -(-x), -(1), not (c and c), (not c) and c\n"),
            "  return -(x + y), --x, -(1), not (c and c), not c and c\n");
  EXPECT_EQ(Body("  return (x < y) == c, x * -1.0, x - -inf, -(inf)\n"),
            "  return (x < y) == c, x * -1.0, x - -inf, -(inf)\n");
}

TEST(Printer, TemporariesOutOfOrderGetNumbers) {
  // %1 is computed before @w but used after it.
  EXPECT_EQ(Body("  %7 = relu(x)\n  return matmul(tanh(y), %7)\n"),
            "  %1 = relu(x)\n  return matmul(tanh(y), %1)\n");
  EXPECT_EQ(Body("  %7 = relu(x)\n  return matmul(%7, tanh(y))\n"),
            "  return matmul(relu(x), tanh(y))\n");
  EXPECT_EQ(Body("  %1 = relu(x)\n  %2 = tanh(y)\n  a = %2 + %2\n  return %1, a\n"),
            "  %1 = relu(x)\n  %2 = tanh(y)\n  a = %2 + %2\n  return %1, a\n");
}

TEST(Printer, UnusedResultsAreTaken) {
  EXPECT_EQ(Body("  a, _ = split(x)\n  _ = relu(x)\n  return a\n"),
            "  a, _ = split(x)\n  _ = relu(x)\n  return a\n");
}

TEST(Printer, ElseIfAndWhileBlocks) {
  const std::string text =
      "  a = if c {\n    yield x\n  } else if mean(x) < mean(y) {\n    yield y\n  } else {\n"
      "    yield x + y\n  }\n"
      "  b = while {\n    m = relu(n)\n    yield m < 3 and m < 4\n  } with (n = a) {\n"
      "    yield n + 1\n  }\n"
      "  if c {\n    print(b)\n  }\n  return b\n";
  EXPECT_EQ(Body(text), text);
}

TEST(Printer, LongLinesWrapAtCommas) {
  std::string call = "concat(x";
  for (int i = 0; i < 40; ++i) call += ", y";
  const std::string printed = Body("  return " + call + ", axis=0)\n");
  EXPECT_NE(printed.find(",\n      y"), std::string::npos) << printed;
  for (size_t begin = 0, end; (end = printed.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    EXPECT_LE(end - begin, 100u);
  }
}

TEST(Printer, NamesOfSpecialisationsAreNotBroken) {
  std::string name = "net[a=1";
  for (char c = 'b'; c < 'z'; ++c) name += std::string(", ") + c + "c=1";
  name += "]";
  const std::string printed =
      RoundTrip("program p\nfn " + name + "(x: f32[B]) { return x }\nfn f(x: f32[B]) { return " +
                name + "(x) + relu(x) }\n");
  EXPECT_NE(printed.find("return " + name + "(x)"), std::string::npos) << printed;
}

TEST(Printer, NamesThatClashGetNumbers) {
  Program p("p", testing::TextSampleOps());
  auto f = std::make_unique<Function>();
  f->name = "f";
  Value* x = f->body().AddArg("x", Type::Tensor(DType::kF32, {Dim::Name("B")}));
  Function* added = p.items.Add(std::move(f));
  Emitter e(p, *added, added->body());
  Var a = e.Emit("relu", {e.Wrap(x)}).Named("x");
  Var b = e.Emit("tanh", {a}).Named("B");
  Var c = e.Emit("tanh", {b}).Named("if");
  e.EmitOp(p.ops().Get("return"), {{c.value()}, {}, {}, {}, 0}, {});
  const std::string printed = Print(p);
  EXPECT_NE(printed.find("x_1 = relu(x)\n  B_1 = tanh(x_1)\n  v_if = tanh(B_1)\n  return v_if"),
            std::string::npos)
      << printed;
  ParseSample(printed);
}

TEST(Printer, CarriedNamesMayHideOuterOnesThatTheLoopDoesNotUse) {
  const std::string text =
      "  h = relu(x)\n  z = for i in range(3) with (h = h) {\n    yield h + x\n  }\n  return z\n";
  EXPECT_EQ(Body(text), text);
}

TEST(Printer, TypesStandInComments) {
  Program p = ParseSample("program p\nfn f(x: f32[B]) {\n  y = relu(x)\n  return y\n}\n");
  Op* relu = p.Functions()[0]->body().first();
  relu->result()->type = Type::Tensor(DType::kF32, {Dim::Name("B")});
  EXPECT_EQ(Print(*p.Functions()[0], p, {.types = true}),
            "fn f(x: f32[B]) {\n  y = relu(x)  // f32[B]\n  return y\n}\n");
}

TEST(Printer, LongChainsAreCutIntoLines) {
  std::string text = "  z = x";
  for (int i = 0; i < 5000; ++i) text += " + x";
  const std::string printed = Body(text + "\n  return z\n");
  EXPECT_NE(printed.find("%1 = x + x"), std::string::npos);
}

}  // namespace
}  // namespace catamaran

#include "catamaran/ir/parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "catamaran/ir/text_samples.h"

namespace catamaran {
namespace {

using testing::kCtrProgram;
using testing::ParseSample;

// The ops of a block in order, by name.
std::string OpNames(const Block& block) {
  std::string out;
  for (const Op* op = block.first(); op; op = op->next()) {
    out += (out.empty() ? "" : " ") + op->name();
  }
  return out;
}

const Function& ParseBody(Program& program, const std::string& header, const std::string& body) {
  program = ParseSample("program p\nparam @w : f32[3]\nvar @v : i64[]\n" + header + " {\n" + body +
                        "\n}\n");
  return *program.Functions().back();
}

struct Body {
  explicit Body(const std::string& body, const std::string& header = "fn f(x: f32[B], c: bool[])")
      : f(ParseBody(program, header, body)) {}
  Program program{"", testing::TextSampleOps()};
  const Function& f;
};

TEST(Parser, ReadsTheProgramOfTheDesign) {
  Program p = ParseSample(kCtrProgram);
  EXPECT_EQ(p.name, "ctr");
  ASSERT_EQ(p.items.list().size(), 6u);
  const StateDecl& feat = *p.items.FindState("feat");
  EXPECT_EQ(feat.kind, StateKind::kTable);
  EXPECT_EQ(feat.type.ToString(), "f32[16]");
  EXPECT_EQ(feat.init.ToString(), "normal(std=0.01)");
  ASSERT_EQ(feat.settings.size(), 3u);
  EXPECT_EQ(feat.settings[1].name, "admit");
  EXPECT_EQ(feat.settings[2].value.ToString(), "unseen(days=30)");
  EXPECT_EQ(Attr(p.items.FindInstance("train")->call).ToString(),
            "adam(clip(grad(loss), norm=1.0), lr=0.001)");

  const Function& infer = *p.items.FindFunction("infer");
  EXPECT_EQ(OpNames(infer.body()), "lookup reshape concat call relu call reshape sigmoid return");
  const Op& concat = *infer.body().first()->next()->next();
  EXPECT_EQ(concat.num_operands(), 2);
  EXPECT_EQ(concat.operand(1), infer.param(1));
  EXPECT_EQ(concat.attr("axis").AsInt(), 1);
  EXPECT_EQ(concat.result()->name, "x");
  EXPECT_EQ(p.sources().ToString(concat.at), "sample.ctm:13");
  EXPECT_EQ(concat.at.column, 7u);

  const Function& loss = *p.items.FindFunction("loss");
  EXPECT_EQ(OpNames(loss.body()), "constant call binary_cross_entropy mean commit return");
  ASSERT_TRUE(loss.commit_region());
  const Op& observe = *loss.commit_region()->first();
  EXPECT_EQ(observe.states, std::vector<std::string>{"feat"});
  EXPECT_EQ(observe.num_operands(), 3);
  EXPECT_EQ(observe.operand(2), loss.param(2));
}

TEST(Parser, OpsFollowTheOrderOfEvaluation) {
  Body b("return relu(matmul(x, @w) + x) * 2");
  EXPECT_EQ(OpNames(b.f.body()), "read matmul add relu constant mul return");
}

TEST(Parser, InfixOperatorsBindAsUsual) {
  Body b("return not x + x * x < x and c or c");
  EXPECT_EQ(OpNames(b.f.body()), "mul add less logical_not logical_and logical_or return");
  Body left("return x - x - x");
  const Op* second = left.f.body().first()->next();
  EXPECT_EQ(second->operand(0), left.f.body().first()->result());
  Body right("return x - (x - x)");
  EXPECT_EQ(right.f.body().first()->next()->operand(1), right.f.body().first()->result());
}

TEST(Parser, AMinusBeforeANumberIsPartOfIt) {
  Body b("return x - -1, -2.5 * x, -x, -(3)");
  EXPECT_EQ(OpNames(b.f.body()), "constant sub constant mul neg constant neg return");
  EXPECT_EQ(b.f.body().first()->attr("value").AsInt(), -1);
  EXPECT_EQ(b.f.body().first()->next()->next()->attr("value").AsDouble(), -2.5);
  Body least("return x * -9223372036854775808");
  EXPECT_EQ(least.f.body().first()->attr("value").AsInt(), INT64_MIN);
}

TEST(Parser, NumbersKeepTheirKind) {
  Body b("return 1, 1.0, 1e3, 1_000, inf, nan, true");
  std::vector<std::string> found;
  for (const Op* op = b.f.body().first(); op->Is("constant"); op = op->next()) {
    found.push_back(op->attr("value").ToString());
  }
  EXPECT_EQ(found, (std::vector<std::string>{"1", "1.0", "1000.0", "1000", "inf", "nan", "true"}));
}

TEST(Parser, NewlinesContinueInBracketsAndBehindOperatorsAndCommas) {
  Body b("y = relu(\n  x\n  + x)\nz = x +\n  y; w = z\nreturn w,\n  y");
  EXPECT_EQ(OpNames(b.f.body()), "add relu add return");
  EXPECT_EQ(b.f.body().last()->operand(0)->name, "z");
}

TEST(Parser, DimensionsAndStaticsAreValues) {
  Body b("return B * n, p",
         "fn f(x: f32[B], n: static int = 2, p: static float = 0.5, q: static bool = true)");
  EXPECT_EQ(OpNames(b.f.body()), "dim dim mul constant return");
  EXPECT_EQ(b.f.body().first()->attr("value").ToString(), "B");
  EXPECT_EQ(b.f.body().last()->operand(1)->def()->attr("value").AsWord(), "p");
  EXPECT_EQ(b.f.order, (std::vector<bool>{false, true, true, true}));
}

TEST(Parser, AnonymousDimensionsAreFresh) {
  Body b("return x", "fn f(x: f32[?, ?], y: f32[?7]) -> f32[?]");
  EXPECT_EQ(b.f.param(0)->type.ToString(), "f32[?0, ?1]");
  EXPECT_EQ(b.f.results[0].type.ToString(), "f32[?8]");
  EXPECT_EQ(b.f.next_fresh, 9u);
}

TEST(Parser, ForCarriesValues) {
  Body b(
      "h, n = for i in range(B) with (h = x, s = 0) { t = h + x\n yield t, s + i }\nreturn h, n");
  EXPECT_EQ(OpNames(b.f.body()), "constant dim constant for return");
  const Op& op = *b.f.body().last()->prev();
  EXPECT_EQ(op.num_operands(), 4);
  EXPECT_EQ(op.num_results(), 2);
  ASSERT_EQ(op.blocks[0]->num_args(), 3);
  EXPECT_EQ(op.blocks[0]->first()->operand(0), op.blocks[0]->arg(1));
  EXPECT_EQ(op.result(1)->name, "n");
}

TEST(Parser, EffectsGoToTheCommitRegion) {
  Body b("guard(x < 1.0)\ny = relu(x)\ncommit { write(@v, y * 2) }\nreturn y");
  EXPECT_EQ(OpNames(b.f.body()), "constant less relu constant mul commit return");
  EXPECT_EQ(OpNames(*b.f.commit_region()), "guard write");
}

TEST(Parser, StatesOfAnUpdateAreListedInOrder) {
  for (const char* text : {"update(@w, @v, x, rule=sgd)", "update(@w, [@v], x, rule=sgd)",
                           "update(@w, x, rule=sgd, slots=[@v])"}) {
    Body b(text);
    const Op& update = *b.f.commit_region()->first();
    EXPECT_EQ(update.states, (std::vector<std::string>{"w", "v"})) << text;
    EXPECT_EQ(update.operand(0), b.f.param(0)) << text;
    EXPECT_EQ(update.attr("rule").AsWord(), "sgd") << text;
  }
}

TEST(Parser, ArgumentsBindByPositionAndName) {
  Body b("return dropout(training=true, x, rate=0.1), dropout(x, 0.2, key=x)");
  const Op& first = *b.f.body().first();
  EXPECT_EQ(first.num_operands(), 1);
  EXPECT_EQ(first.attr("rate").AsDouble(), 0.1);
  const Op& second = *first.next();
  EXPECT_EQ(second.num_operands(), 2);
  EXPECT_EQ(second.attr("rate").AsDouble(), 0.2);
}

TEST(Parser, OpsThatTakeManyValuesTakeConstantsByName) {
  Body b("return stack_of(x, c, c, axis=1), stack_of(axis=2, x)");
  const Op& first = *b.f.body().first();
  EXPECT_EQ(first.num_operands(), 3);
  EXPECT_EQ(first.operand(0), b.f.param(0));
  EXPECT_EQ(first.attr("axis").AsInt(), 1);
  EXPECT_EQ(first.next()->num_operands(), 1);
}

TEST(Parser, UsersNamesShadowOps) {
  Program p = ParseSample(
      "program p\nfn relu(x: f32[B]) { return x }\n"
      "fn f(x: f32[B]) { return op.relu(relu(x)) }\n");
  EXPECT_EQ(OpNames(p.Functions()[1]->body()), "call relu return");
}

TEST(Parser, StaticArgumentsOfACallAreAttributes) {
  Program p = ParseSample(
      "program p\n"
      "fn net(x: f32[B], training: static bool = false, n: static int) { return x }\n"
      "fn f(x: f32[B]) { return net(x, n=B), net[n=2](x, training=true), net(n=3, x, "
      "training=false) }\n");
  const Op* call = p.Functions()[1]->body().first();
  EXPECT_EQ(call->attrs.size(), 1u);
  EXPECT_EQ(call->attr("n").ToString(), "B");
  call = call->next();
  EXPECT_EQ(call->callee, "net");
  EXPECT_EQ(call->attr("n").AsInt(), 2);
  EXPECT_TRUE(call->attr("training").AsBool());
  EXPECT_FALSE(call->next()->attr("training").AsBool());
}

TEST(Parser, SpecialisedNamesOfFlatProgramsAreNames) {
  Program p = ParseSample(testing::TextSamples()[3]);
  EXPECT_EQ(p.Functions()[2]->name, "net[training=true].pure");
  EXPECT_EQ(p.Functions()[2]->body().first()->callee, "net[training=true]");
  EXPECT_TRUE(p.Functions()[2]->body().first()->attrs.empty());
  EXPECT_EQ(p.Functions()[3]->results[1].name, "@b1.fc.w");
}

TEST(Parser, WhileConditionsSeeTheCarriedValues) {
  Body b("z = while n < 10 with (n = 0) { yield n + 1 }\nreturn z");
  const Op& op = *b.f.body().first()->next();
  ASSERT_TRUE(op.Is("while"));
  EXPECT_EQ(OpNames(*op.blocks[0]), "constant less yield");
  EXPECT_EQ(op.blocks[0]->first()->next()->operand(0), op.blocks[0]->arg(0));
  EXPECT_EQ(OpNames(*op.blocks[1]), "constant add yield");
  Body block("z = while { m = n * 2\n yield m < 10 } with (n = 0) { yield n + 1 }\nreturn z");
  EXPECT_EQ(OpNames(*block.f.body().first()->next()->blocks[0]),
            "constant mul constant less yield");
}

TEST(Parser, ImportsAreReadRelativeToTheirFile) {
  std::map<std::string, std::string> files{
      {"models/net.ctm",
       "program net\nimport deep \"sub/deep.ctm\"\nfn infer(x: f32[B]) { return "
       "deep.twice(x) }\n"},
      {"models/sub/deep.ctm",
       "program deep\nparam @w : f32[]\nfn twice(x: f32[B]) { return x * 2.0 * @w }\n"}};
  ParseOptions options;
  options.load_import = [&](const std::string& path) -> std::optional<std::string> {
    auto it = files.find(path);
    if (it == files.end()) return std::nullopt;
    return it->second;
  };
  Program p = ParseSample(
      "program main\nimport net \"net.ctm\"\nfn f(x: f32[B]) { return net.infer(x) * "
      "@net.deep.w }\ng = grad(net.infer.pure)\n",
      "models/main.ctm", options);
  EXPECT_EQ(p.items.FindImport("net")->program->items.FindImport("deep")->program->name, "deep");
  EXPECT_EQ(p.Functions()[0]->body().first()->callee, "net.infer");
}

TEST(Parser, ManyOpsAndLongChainsNeedNoStack) {
  std::string text = "program p\nfn f(x: f32[B]) {\n  y = x";
  for (int i = 0; i < 200'000; ++i) text += " + x";
  text += "\n  return y\n}\n";
  Program p = ParseSample(text);
  int count = 0;
  for (const Op* op = p.Functions()[0]->body().first(); op; op = op->next()) ++count;
  EXPECT_EQ(count, 200'001);
}

}  // namespace
}  // namespace catamaran

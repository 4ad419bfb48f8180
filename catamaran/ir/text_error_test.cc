// What the parser says about mistakes.

#include <gtest/gtest.h>

#include <map>

#include "catamaran/ir/text_samples.h"

namespace catamaran {
namespace {

using testing::ParseSample;

std::string ErrorOf(std::string_view text, const ParseOptions& options = {}) {
  try {
    ParseSample(text, "e.ctm", options);
  } catch (const ProgramError& e) {
    return e.what();
  }
  return "no error";
}

// The messages of the mistakes, one a line, with their line numbers.
std::string Messages(std::string_view text, const ParseOptions& options = {}) {
  try {
    ParseSample(text, "e.ctm", options);
  } catch (const ProgramError& e) {
    std::string out;
    for (const Diagnostic& d : e.diagnostics()) {
      out += std::to_string(d.at.line) + ": " + d.message + "\n";
    }
    return out;
  }
  return "no error";
}

std::string InFunction(const std::string& body) {
  return Messages(
      "program p\nparam @w : f32[3]\ntable @t : u64 -> f32[4]\n"
      "fn f(x: f32[B, D], ids: u64[B], n: static int = 2) {\n" +
      body + "\n}\n");
}

TEST(TextError, ShowsTheLineThePlaceAndASuggestion) {
  EXPECT_EQ(ErrorOf("program p\nfn f(x: f32[B]) {\n  h = reul(x) * 2\n  return h\n}\n"),
            "e.ctm:3: unknown name 'reul'; did you mean relu?\n"
            "    3 |   h = reul(x) * 2\n"
            "      |       ^^^^");
}

TEST(TextError, ShowsTheSignatureForWrongArguments) {
  EXPECT_EQ(ErrorOf("program p\nfn f(x: f32[B]) {\n  return concat(x, x, axs=1)\n}\n"),
            "e.ctm:3: concat has no argument 'axs'; did you mean axis?\n"
            "    3 |   return concat(x, x, axs=1)\n"
            "      |                       ^^^\n"
            "  concat(parts…, axis)");
}

TEST(TextError, SeveralMistakesAreReportedTogetherAndOnce) {
  EXPECT_EQ(InFunction("  a = reul(x)\n  b = a + a\n  c = relu(zz)\n  d = b * c\n  return y"),
            "5: unknown name 'reul'; did you mean relu?\n"
            "7: unknown name 'zz'\n"
            "9: unknown name 'y'\n");
  EXPECT_EQ(Messages("program p\nparam @a : f33[2]\nvar @b : f32\nfn f() { return @a + @b }\n"
                     "fn g() { return @c }\n"),
            "2: unknown type 'f33'; did you mean f32?\n"
            "3: f32 needs its dimensions: f32[] is a scalar, f32[B] a vector\n"
            "5: unknown state '@c'\n");
}

TEST(TextError, NoMoreThanTwentyAreShown) {
  std::string body;
  for (int i = 0; i < 30; ++i) body += "  a" + std::to_string(i) + " = zz\n";
  const std::string messages = InFunction(body);
  EXPECT_EQ(std::count(messages.begin(), messages.end(), '\n'), 21);
  EXPECT_NE(messages.find("and 10 more errors"), std::string::npos);
}

TEST(TextError, ValuesAreAssignedOnce) {
  EXPECT_EQ(InFunction("  a = relu(x)\n  a = tanh(x)\n  return a"),
            "6: a is already defined at e.ctm:5; a value is assigned once\n");
  EXPECT_EQ(InFunction("  a = relu(x)\n  for i in range(3) {\n    a = tanh(x)\n  }\n  return a"),
            "7: a is already defined at e.ctm:5; a value is assigned once\n");
  EXPECT_EQ(InFunction("  B = relu(x)\n  return x"),
            "5: B is already a dimension or static argument here\n");
}

TEST(TextError, EffectsStayOutOfBlocksAndExpressions) {
  EXPECT_EQ(InFunction("  for i in range(3) {\n    write(@w, x)\n  }"),
            "6: write is an effect and cannot stand in 'for'\n");
  EXPECT_EQ(InFunction("  a = write(@w, x)"),
            "5: write is an effect and yields no value; it stands alone on its line\n");
  EXPECT_EQ(InFunction("  commit { relu(x) }"),
            "5: relu is no effect; a commit region holds only effects (guard, write, update, push, "
            "observe, send)\n");
  EXPECT_EQ(InFunction("  commit { a = relu(x) }"),
            "5: a commit region holds only effects: guard, write, update, push, observe, send\n");
}

TEST(TextError, RecursionAndUseBeforeDefinition) {
  EXPECT_EQ(InFunction("  return f(x, ids)"), "5: f calls itself; recursion is not supported\n");
  EXPECT_EQ(InFunction("  return f.pure(x, ids)"),
            "5: f calls itself; recursion is not supported\n");
  const std::string text =
      "program p\nfn a(x: f32[B]) {\n  return b(x)\n}\n"
      "fn b(x: f32[B]) { return x }\n";
  EXPECT_EQ(ErrorOf(text),
            "e.ctm:3: b is used before it is defined\n"
            "    3 |   return b(x)\n"
            "      |          ^\n"
            "  it is defined later, at e.ctm:5; a program reads from top to bottom");
  EXPECT_EQ(Messages("program p\nbuilder b(D: int) {\n  c = b(D)\n  fn (x: f32[D]) { return x }\n"
                     "}\n"),
            "3: b uses itself; recursion is not supported\n");
}

TEST(TextError, BlocksYieldWhatIsAsked) {
  EXPECT_EQ(InFunction("  a = if ids { yield x } else { yield x, x }\n  return a"),
            "5: else yields 2 values; 1 is wanted\n");
  EXPECT_EQ(InFunction("  a = if ids { yield x }\n  return a"),
            "5: an if that yields values needs an else that yields as many\n");
  EXPECT_EQ(InFunction("  a, b = for i in range(3) with (h = x) { yield h }"),
            "5: for yields 1 value; 2 names take them\n");
  EXPECT_EQ(InFunction("  a = for i in range(3) with (h = x) { relu(h) }"),
            "5: the value of relu is not used; give it a name\n"
            "5: the body of for yields 0 values; 1 is wanted\n");
  EXPECT_EQ(InFunction("  if ids { return x }"),
            "5: return cannot leave a function from inside 'if'; yield the value out\n");
  EXPECT_EQ(InFunction("  return x\n  a = x"),
            "6: nothing may follow the return or yield of a block\n");
  EXPECT_EQ(InFunction("  while ids { yield x }"),
            "5: while needs the values that it carries: while n > 0 with (n = n0) { … }\n");
}

TEST(TextError, ConstantsAndValuesAreToldApart) {
  EXPECT_EQ(InFunction("  return reshape(x, [ids])"),
            "5: 'ids' is a value; a dimension or constant is wanted here\n");
  EXPECT_EQ(InFunction("  return dropout(x, training=x)"),
            "5: 'x' is a value; true or false is wanted here\n");
  EXPECT_EQ(InFunction("  return lookup(@t, ids, pool=sun)"),
            "5: 'sun' is none of none, sum, mean, sqrt; did you mean sum?\n");
  EXPECT_EQ(InFunction("  return cast(x, f23)"), "5: expected a dtype such as f32, found 'f23'\n");
  EXPECT_EQ(InFunction("  return relu(@t)"),
            "5: the table @t cannot be read as a value; use lookup(@t, ids)\n");
  EXPECT_EQ(InFunction("  return w + x"), "5: unknown value 'w'; did you mean @w?\n");
  EXPECT_EQ(InFunction("  return split(x)"),
            "5: split yields 2 values, and one value is wanted here\n");
}

TEST(TextError, StaticArgumentsHaveNames) {
  EXPECT_EQ(Messages("program p\nfn g(x: f32[B], n: static int = 1) { return x }\n"
                     "fn h(x: f32[B]) { return g(x, 3), g[m=2](x), g(n=x, x) }\n"),
            "3: g takes 1 value; static arguments are given by name\n");
  EXPECT_EQ(Messages("program p\nfn g(x: f32[B], n: static int = 1) { return x }\n"
                     "fn h(x: f32[B]) {\n  return g[m=2](x)\n}\n"
                     "fn k(x: f32[B]) {\n  return g()\n}\n"),
            "4: there is no static argument 'm'\n"
            "7: g: the argument x is missing\n");
}

TEST(TextError, BuildersAreUsedOutsideFunctions) {
  EXPECT_EQ(InFunction("  return linear(3, 4)"),
            "5: linear is a builder; instances are made outside functions: name = linear(…)\n");
  EXPECT_EQ(Messages("program p\nfc = linear(3)\ng = grad(los)\nh = mlp(3, x=2)\n"),
            "2: linear: the argument out is missing\n"
            "3: unknown name 'los'\n"
            "4: mlp has no argument 'x'\n");
}

TEST(TextError, AnUnclosedBracketIsReportedOnce) {
  EXPECT_EQ(InFunction("  a = relu(x\n  b = tanh(x)\n  c = zz\n  return b"),
            "6: expected ',' or ')' in the arguments of relu, found 'b'\n"
            "7: unknown name 'zz'\n");
  EXPECT_EQ(InFunction("  a = concat(x,\n    zz,\n    x, axis=1)\n  return y"),
            "6: unknown name 'zz'\n8: unknown name 'y'\n");
}

TEST(TextError, AMissingBraceIsReportedAtTheNextFunction) {
  const std::string messages =
      Messages("program p\nfn f(x: f32[B]) {\n  return x\n\nfn g(x: f32[B]) { return zz }\n");
  EXPECT_EQ(messages,
            "5: a function cannot be defined in a function; is a '}' missing above?\n"
            "5: unknown name 'zz'\n");
}

TEST(TextError, DeepNestingIsRefusedNotOverflowed) {
  const int deep = 100'000;
  for (const std::string& open : {std::string("("), std::string("relu("), std::string("-"),
                                  std::string("not "), std::string("if x { yield ")}) {
    std::string text = "program p\nfn f(x: f32[B]) {\n  a = ";
    for (int i = 0; i < deep; ++i) text += open;
    EXPECT_NE(Messages(text + "x\n}\n").find("nest more than 200 deep"), std::string::npos) << open;
  }
  for (const char* open : {"[", "n(", "(", "-"}) {
    std::string text = "program p\nparam @a : f32[] = ";
    for (int i = 0; i < deep; ++i) text += open;
    EXPECT_NE(Messages(text).find("nest more than 200 deep"), std::string::npos) << open;
  }
  std::string type = "program p\nfn f(x: ";
  for (int i = 0; i < deep; ++i) type += "stack<";
  EXPECT_NE(Messages(type).find("nest more than 200 deep"), std::string::npos);
}

TEST(TextError, ImportsThatFailSayWhy) {
  std::map<std::string, std::string> files{{"a.ctm", "program a\nimport b \"b.ctm\"\n"},
                                           {"b.ctm", "program b\nimport a \"./a.ctm\"\n"},
                                           {"bad.ctm", "program bad\nfn f() { return zz }\n"}};
  ParseOptions options;
  options.load_import = [&](const std::string& path) -> std::optional<std::string> {
    auto it = files.find(path);
    if (it == files.end()) return std::nullopt;
    return it->second;
  };
  EXPECT_EQ(Messages("program p\nimport a \"a.ctm\"\nimport x \"none.ctm\"\n", options),
            "2: files import each other: a.ctm -> b.ctm -> a.ctm\n3: there is no file none.ctm\n");
  EXPECT_EQ(ErrorOf("program p\nimport bad \"bad.ctm\"\nfn g() { return bad.f() }\n", options),
            "bad.ctm:2: unknown name 'zz'\n"
            "    2 | fn f() { return zz }\n"
            "      |                 ^^\n"
            "  imported as bad, e.ctm:2");
  EXPECT_EQ(Messages("program p\nimport a \"a.ctm\"\n"),
            "2: this program is read without files; imports cannot be loaded\n");
}

TEST(TextError, ExponentialImportsAreRefused) {
  ParseOptions options;
  options.load_import = [](const std::string& path) -> std::optional<std::string> {
    const int i = std::stoi(path);
    return "program p\nimport a \"" + std::to_string(i + 1) + "\"\nimport b \"" +
           std::to_string(i + 1) + "\"\n";
  };
  EXPECT_NE(Messages("program p\nimport a \"0\"\n", options).find("imports nest more than"),
            std::string::npos);
}

TEST(TextError, AProgramBeginsWithItsName) {
  EXPECT_EQ(Messages(""), "1: a program begins with 'program NAME', found the end of the file\n");
  EXPECT_EQ(Messages("fn f() {}\n"), "1: a program begins with 'program NAME', found 'fn'\n");
}

}  // namespace
}  // namespace catamaran

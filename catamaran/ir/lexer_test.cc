#include "catamaran/ir/lexer.h"

#include <gtest/gtest.h>

namespace catamaran {
namespace {

std::vector<Token> Lex(std::string_view text, Diagnostics* diagnostics = nullptr) {
  Lexer lexer(text, 1, diagnostics);
  std::vector<Token> tokens;
  do {
    tokens.push_back(lexer.Next());
  } while (!tokens.back().Is(TokenKind::kEnd));
  return tokens;
}

std::string Texts(std::string_view text) {
  std::string out;
  for (const Token& t : Lex(text)) {
    if (!out.empty()) out += '|';
    out += t.text;
  }
  return out;
}

TEST(Lexer, CutsNamesNumbersAndSigns) {
  EXPECT_EQ(Texts("y=a.b(x1,-2.5e-3)*[B,*T]->?0"),
            "y|=|a.b|(|x1|,|-|2.5e-3|)|*|[|B|,|*|T|]|->|?0|");
  EXPECT_EQ(Texts("a<=b==c!=d>=e<f"), "a|<=|b|==|c|!=|d|>=|e|<|f|");
  EXPECT_EQ(Texts("@layers.0.w %12 net[x].pure"), "layers.0.w|%12|net|[|x|]|pure|");
}

TEST(Lexer, KnowsReservedWords) {
  const auto tokens = Lex("if iff in inf fn with yield");
  EXPECT_EQ(tokens[0].kind, TokenKind::kIf);
  EXPECT_EQ(tokens[1].kind, TokenKind::kName);
  EXPECT_EQ(tokens[2].kind, TokenKind::kIn);
  EXPECT_EQ(tokens[3].kind, TokenKind::kInf);
  EXPECT_FALSE(IsPlainName("while"));
  EXPECT_FALSE(IsPlainName("a.b"));
  EXPECT_FALSE(IsPlainName("1a"));
  EXPECT_FALSE(IsPlainName("_"));
  EXPECT_TRUE(IsPlainName("_a1"));
  EXPECT_TRUE(IsPath("a.0.b"));
  EXPECT_FALSE(IsPath("a..b"));
  EXPECT_FALSE(IsPath("a."));
}

TEST(Lexer, CountsLinesAndColumnsAcrossComments) {
  const auto tokens = Lex("a // b\r\n\t# c\n  d \"x // y\" e");
  ASSERT_EQ(tokens.size(), 5u);
  EXPECT_EQ(tokens[0].line, 1u);
  EXPECT_TRUE(tokens[0].newline_before);
  EXPECT_EQ(tokens[1].text, "d");
  EXPECT_EQ(tokens[1].line, 3u);
  EXPECT_EQ(tokens[1].column, 3u);
  EXPECT_TRUE(tokens[1].newline_before);
  EXPECT_EQ(tokens[2].text, "\"x // y\"");
  EXPECT_FALSE(tokens[2].newline_before);
  EXPECT_EQ(tokens[3].column, 14u);
}

TEST(Lexer, TellsIntegersFromFloats) {
  for (const char* text : {"1.0", "1.", "1e5", "2.5E+3"}) {
    EXPECT_EQ(Lex(text)[0].kind, TokenKind::kFloat) << text;
  }
  for (const char* text : {"0", "12", "1_000"}) {
    EXPECT_EQ(Lex(text)[0].kind, TokenKind::kInt) << text;
  }
}

TEST(Lexer, ReportsWhatIsNoTokenOnceAndGoesOn) {
  Diagnostics diagnostics;
  const auto tokens = Lex("a $ b \xc3\xa9\xc3\xa9 12ab \"open\nc @", &diagnostics);
  ASSERT_EQ(diagnostics.list().size(), 5u);
  EXPECT_EQ(diagnostics.list()[0].message, "'$' means nothing here");
  EXPECT_EQ(diagnostics.list()[0].at.column, 3u);
  EXPECT_EQ(diagnostics.list()[1].message,
            "this character may stand only in a comment or a string");
  EXPECT_EQ(diagnostics.list()[2].message, "'12ab' is neither a number nor a name");
  EXPECT_EQ(diagnostics.list()[3].message, "this string has no closing quote on its line");
  EXPECT_EQ(diagnostics.list()[4].message, "a state's name must follow the @");
  EXPECT_EQ(tokens.size(), 6u);  // a b 12ab "open c end
}

}  // namespace
}  // namespace catamaran

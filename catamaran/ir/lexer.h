// ir/lexer.h
//
// Cuts the text of a program into tokens, one at a time. There are no newline tokens: a token
// knows whether a line ended before it, and the parser asks where that matters. Comments
// (`// …`, `# …`) are skipped. A character that begins no token is reported once and skipped.
//
// A Lexer is a small value; copying it is how the parser looks ahead and comes back. Tokens
// point into the text, which must outlive them.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/location.h"

namespace catamaran {

enum class TokenKind : uint8_t {
  kEnd,
  kName,   // x, fc1.w: components after a point may begin with a digit
  kState,  // @fc1.w
  kTemp,   // %1: a value without a name
  kFresh,  // ? or ?0: an anonymous dimension
  kInt,
  kFloat,
  kString,
  kSuffix,  // .pure right after a closing bracket
  // Words that cannot be names.
  kIf,
  kElse,
  kFor,
  kIn,
  kWhile,
  kWith,
  kYield,
  kReturn,
  kCommit,
  kFn,
  kAnd,
  kOr,
  kNot,
  kTrue,
  kFalse,
  kInf,
  kNan,
  // Punctuation.
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kComma,
  kColon,
  kSemicolon,
  kAssign,
  kArrow,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool newline_before = false;
  uint32_t line = 0;    // from 1
  uint32_t column = 0;  // from 1
  // As written; without the sign for kState (@) and kSuffix (.).
  std::string_view text;

  bool Is(TokenKind k) const { return kind == k; }
  // Columns to underline.
  uint32_t length() const;
};

class Lexer {
 public:
  // `diagnostics` may be null: then nothing is reported.
  Lexer(std::string_view text, uint32_t file, Diagnostics* diagnostics)
      : text_(text), file_(file), diagnostics_(diagnostics) {}

  Token Next();
  // From here on nothing is reported.
  void Mute() { diagnostics_ = nullptr; }

 private:
  bool SkipBlanks();  // whether a line ended
  void Report(size_t begin, size_t length, std::string message);
  Token Make(TokenKind kind, size_t begin, size_t text_begin);
  Token LexName(size_t begin);
  Token LexPath(size_t begin, TokenKind kind);
  Token LexNumber(size_t begin);
  Token LexString(size_t begin);

  std::string_view text_;
  uint32_t file_;
  Diagnostics* diagnostics_;
  size_t pos_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  bool newline_ = true;
};

// "'foo'", "a number", "the end of the file": for messages.
std::string Describe(const Token& token);

// Whether `text` can name a value or an item: letters, digits and underscores, not beginning
// with a digit, and no reserved word.
bool IsPlainName(std::string_view text);
// The same with components joined by points: fc1.w, layers.0.w.
bool IsPath(std::string_view text);

}  // namespace catamaran

#include "catamaran/ir/lexer.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace catamaran {
namespace {

enum CharClass : uint8_t { kOther = 0, kLetter = 1, kDigit = 2 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kLetter;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit;
  classes['_'] = kLetter;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

bool IsLetter(char c) { return kClasses[static_cast<unsigned char>(c)] == kLetter; }
bool IsDigit(char c) { return kClasses[static_cast<unsigned char>(c)] == kDigit; }
bool IsWord(char c) { return kClasses[static_cast<unsigned char>(c)] != kOther; }

struct Reserved {
  std::string_view word;
  TokenKind kind;
};
constexpr Reserved kReserved[] = {
    {"if", TokenKind::kIf},       {"else", TokenKind::kElse},     {"for", TokenKind::kFor},
    {"in", TokenKind::kIn},       {"while", TokenKind::kWhile},   {"with", TokenKind::kWith},
    {"yield", TokenKind::kYield}, {"return", TokenKind::kReturn}, {"commit", TokenKind::kCommit},
    {"fn", TokenKind::kFn},       {"and", TokenKind::kAnd},       {"or", TokenKind::kOr},
    {"not", TokenKind::kNot},     {"true", TokenKind::kTrue},     {"false", TokenKind::kFalse},
    {"inf", TokenKind::kInf},     {"nan", TokenKind::kNan},
};

TokenKind WordKind(std::string_view word) {
  if (word.size() < 2 || word.size() > 6) return TokenKind::kName;
  for (const Reserved& r : kReserved) {
    if (r.word == word) return r.kind;
  }
  return TokenKind::kName;
}

}  // namespace

uint32_t Token::length() const {
  const size_t sign = kind == TokenKind::kState || kind == TokenKind::kSuffix ? 1 : 0;
  return static_cast<uint32_t>(text.size() + sign);
}

bool Lexer::SkipBlanks() {
  bool newline = std::exchange(newline_, false);
  const size_t size = text_.size();
  while (pos_ < size) {
    const char c = text_[pos_];
    if (c == '\n') {
      ++pos_;
      ++line_;
      line_start_ = pos_;
      newline = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++pos_;
    } else if (c == '#' || (c == '/' && pos_ + 1 < size && text_[pos_ + 1] == '/')) {
      const size_t end = text_.find('\n', pos_);
      pos_ = end == std::string_view::npos ? size : end;
    } else {
      break;
    }
  }
  return newline;
}

void Lexer::Report(size_t begin, size_t length, std::string message) {
  if (!diagnostics_) return;
  const Location at{file_, line_, static_cast<uint32_t>(begin - line_start_ + 1), 0};
  diagnostics_->Add(at, std::move(message), static_cast<uint32_t>(length));
}

Token Lexer::Make(TokenKind kind, size_t begin, size_t text_begin) {
  Token token;
  token.kind = kind;
  token.line = line_;
  token.column = static_cast<uint32_t>(begin - line_start_ + 1);
  token.text = text_.substr(text_begin, pos_ - text_begin);
  return token;
}

Token Lexer::LexPath(size_t begin, TokenKind kind) {
  const size_t text_begin = pos_;
  const size_t size = text_.size();
  while (pos_ < size) {
    if (IsWord(text_[pos_])) {
      ++pos_;
    } else if (text_[pos_] == '.' && pos_ > text_begin && pos_ + 1 < size &&
               IsWord(text_[pos_ + 1])) {
      pos_ += 2;
    } else {
      break;
    }
  }
  return Make(kind, begin, text_begin);
}

Token Lexer::LexName(size_t begin) {
  Token token = LexPath(begin, TokenKind::kName);
  token.kind = WordKind(token.text);
  return token;
}

Token Lexer::LexNumber(size_t begin) {
  const size_t size = text_.size();
  auto digits = [&] {
    while (pos_ < size && (IsDigit(text_[pos_]) || text_[pos_] == '_')) ++pos_;
  };
  TokenKind kind = TokenKind::kInt;
  digits();
  if (pos_ < size && text_[pos_] == '.' && !(pos_ + 1 < size && IsLetter(text_[pos_ + 1]))) {
    kind = TokenKind::kFloat;
    ++pos_;
    digits();
  }
  if (pos_ < size && (text_[pos_] == 'e' || text_[pos_] == 'E')) {
    size_t next = pos_ + 1;
    if (next < size && (text_[next] == '+' || text_[next] == '-')) ++next;
    if (next < size && IsDigit(text_[next])) {
      kind = TokenKind::kFloat;
      pos_ = next;
      digits();
    }
  }
  if (pos_ < size && IsLetter(text_[pos_])) {
    while (pos_ < size && IsWord(text_[pos_])) ++pos_;
    Report(begin, pos_ - begin,
           fmt::format("'{}' is neither a number nor a name", text_.substr(begin, pos_ - begin)));
  }
  return Make(kind, begin, begin);
}

Token Lexer::LexString(size_t begin) {
  ++pos_;
  while (pos_ < text_.size() && text_[pos_] != '"' && text_[pos_] != '\n') {
    pos_ += text_[pos_] == '\\' && pos_ + 1 < text_.size() && text_[pos_ + 1] != '\n' ? 2 : 1;
  }
  if (pos_ < text_.size() && text_[pos_] == '"') {
    ++pos_;
  } else {
    Report(begin, 1, "this string has no closing quote on its line");
  }
  return Make(TokenKind::kString, begin, begin);
}

Token Lexer::Next() {
  bool newline = false;
  while (true) {
    newline |= SkipBlanks();
    const size_t begin = pos_;
    const size_t size = text_.size();
    Token token;
    if (begin >= size) {
      token = Make(TokenKind::kEnd, begin, begin);
      token.newline_before = true;
      return token;
    }
    const char c = text_[begin];
    const char d = begin + 1 < size ? text_[begin + 1] : '\0';
    auto punctuation = [&](TokenKind kind, size_t length) {
      pos_ += length;
      return Make(kind, begin, begin);
    };
    using K = TokenKind;
    if (IsLetter(c)) {
      token = LexName(begin);
    } else if (IsDigit(c)) {
      token = LexNumber(begin);
    } else {
      switch (c) {
        case '(':
          token = punctuation(K::kLeftParen, 1);
          break;
        case ')':
          token = punctuation(K::kRightParen, 1);
          break;
        case '[':
          token = punctuation(K::kLeftBracket, 1);
          break;
        case ']':
          token = punctuation(K::kRightBracket, 1);
          break;
        case '{':
          token = punctuation(K::kLeftBrace, 1);
          break;
        case '}':
          token = punctuation(K::kRightBrace, 1);
          break;
        case ',':
          token = punctuation(K::kComma, 1);
          break;
        case ':':
          token = punctuation(K::kColon, 1);
          break;
        case ';':
          token = punctuation(K::kSemicolon, 1);
          break;
        case '+':
          token = punctuation(K::kPlus, 1);
          break;
        case '*':
          token = punctuation(K::kStar, 1);
          break;
        case '/':
          token = punctuation(K::kSlash, 1);
          break;
        case '-':
          token = d == '>' ? punctuation(K::kArrow, 2) : punctuation(K::kMinus, 1);
          break;
        case '=':
          token = d == '=' ? punctuation(K::kEqual, 2) : punctuation(K::kAssign, 1);
          break;
        case '<':
          token = d == '=' ? punctuation(K::kLessEqual, 2) : punctuation(K::kLess, 1);
          break;
        case '>':
          token = d == '=' ? punctuation(K::kGreaterEqual, 2) : punctuation(K::kGreater, 1);
          break;
        case '"':
          token = LexString(begin);
          break;
        case '?':
          ++pos_;
          while (pos_ < size && IsDigit(text_[pos_])) ++pos_;
          token = Make(K::kFresh, begin, begin);
          break;
        default:
          if (c == '!' && d == '=') {
            token = punctuation(K::kNotEqual, 2);
          } else if (c == '@' && IsLetter(d)) {
            ++pos_;
            token = LexPath(begin, K::kState);
          } else if (c == '.' && IsLetter(d)) {
            ++pos_;
            token = LexPath(begin, K::kSuffix);
          } else if (c == '%' && IsDigit(d)) {
            ++pos_;
            while (pos_ < size && IsDigit(text_[pos_])) ++pos_;
            token = Make(K::kTemp, begin, begin);
          } else {
            // One report for a run of them: other alphabets, binary files.
            ++pos_;
            while (pos_ < size && static_cast<unsigned char>(text_[pos_]) >= 0x80) ++pos_;
            const unsigned char u = static_cast<unsigned char>(c);
            if (c == '@') {
              Report(begin, 1, "a state's name must follow the @");
            } else if (u >= 0x20 && u < 0x7f) {
              Report(begin, 1, fmt::format("'{}' means nothing here", c));
            } else {
              Report(begin, 1, "this character may stand only in a comment or a string");
            }
            continue;
          }
      }
    }
    token.newline_before = newline;
    return token;
  }
}

std::string Describe(const Token& token) {
  if (token.Is(TokenKind::kEnd)) return "the end of the file";
  std::string_view text = token.text.substr(0, 40);
  if (token.Is(TokenKind::kState)) return fmt::format("'@{}'", text);
  if (token.Is(TokenKind::kSuffix)) return fmt::format("'.{}'", text);
  return fmt::format("'{}'", text);
}

bool IsPlainName(std::string_view text) {
  if (text.empty() || !IsLetter(text[0]) || text == "_") return false;
  for (char c : text) {
    if (!IsWord(c)) return false;
  }
  return WordKind(text) == TokenKind::kName;
}

bool IsPath(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (i + 1 >= text.size() || !IsWord(text[i + 1])) return false;
    } else if (!IsWord(text[i])) {
      return false;
    }
  }
  return WordKind(text) == TokenKind::kName;
}

}  // namespace catamaran

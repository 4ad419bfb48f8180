#include "catamaran/data/features/feature_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "catamaran/base/error.h"
#include "catamaran/data/text/utf8.h"

namespace catamaran {
namespace {

using Kind = FeatureToken::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(const FeatureSource& source) : source_(source), text_(source.text) {}

  std::vector<FeatureToken> Run() {
    const size_t bad = FindBadUtf8(text_);
    if (bad < text_.size()) {
      const auto line =
          std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(bad), '\n');
      FailAt(source_, {static_cast<int>(line) + 1, 1}, "this line is no UTF-8");
    }
    while (at_ < text_.size()) Next();
    EndLine();
    Add(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  FeaturePlace Here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  FeatureToken& Add(Kind kind, std::string text) {
    tokens_.push_back({.kind = kind, .text = std::move(text), .place = Here()});
    return tokens_.back();
  }
  void EndLine() {
    if (!tokens_.empty() && tokens_.back().kind != Kind::kNewline) Add(Kind::kNewline, "");
  }

  void Next() {
    const char c = text_[at_];
    if (c == '\n') {
      if (open_ == 0) EndLine();
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && Peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (IsLetter(c)) {
      Name();
    } else if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      Number();
    } else if (c == '"' || c == '`') {
      Quoted(c);
    } else {
      Sign();
    }
  }

  // Names may have dots within, but ".." is a range.
  void Name() {
    const size_t begin = at_;
    FeatureToken& token = Add(Kind::kName, "");
    while (IsLetter(Peek()) || IsDigit(Peek()) ||
           (Peek() == '.' && (IsLetter(Peek(1)) || IsDigit(Peek(1))))) {
      ++at_;
    }
    token.text = text_.substr(begin, at_ - begin);
  }

  void Number() {
    const size_t begin = at_;
    FeatureToken& token = Add(Kind::kNumber, "");
    const char* const end = text_.data() + text_.size();
    const auto answer = std::from_chars(text_.data() + begin, end, token.number);
    if (answer.ec != std::errc()) FailAt(source_, Here(), "this number does not fit");
    at_ = static_cast<size_t>(answer.ptr - text_.data());
    // "1..5" is no number followed by ".5".
    token.text = text_.substr(begin, at_ - begin);
    if (IsLetter(Peek())) FailAt(source_, token.place, "a name does not begin with a digit");
  }

  void Quoted(char quote) {
    FeatureToken& token = Add(quote == '"' ? Kind::kText : Kind::kName, "");
    token.quoted = true;
    const FeaturePlace begin = Here();
    for (++at_; Peek() != quote; ++at_) {
      char c = Peek();
      if (at_ >= text_.size() || c == '\n') {
        FailAt(source_, begin, fmt::format("the {} is not closed on this line", quote));
      }
      if (c == '\\') {
        ++at_;
        constexpr std::string_view kFrom = "nt\"`\\", kTo = "\n\t\"`\\";
        const size_t which = kFrom.find(Peek());
        if (which == std::string_view::npos || at_ >= text_.size()) {
          FailAt(source_, Here(), "wanted n, t, \\ or a quote after \\");
        }
        c = kTo[which];
      }
      token.text += c;
    }
    ++at_;
    if (quote == '`' && token.text.empty()) FailAt(source_, begin, "a name has no characters");
  }

  void Sign() {
    constexpr std::string_view kSigns[] = {"..", "<=", ">=", "==", "!=", "(", ")", "[", "]", ",",
                                           "=",  "+",  "-",  "*",  "/",  "<", ">", ":", "."};
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view sign : kSigns) {
      if (!rest.starts_with(sign)) continue;
      Add(Kind::kSign, std::string(sign));
      if (sign == "(" || sign == "[") ++open_;
      if ((sign == ")" || sign == "]") && open_ > 0) --open_;
      at_ += sign.size();
      return;
    }
    FailAt(source_, Here(), "this character has no meaning here");
  }

  const FeatureSource& source_;
  const std::string_view text_;
  std::vector<FeatureToken> tokens_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  int open_ = 0;  // brackets
};

}  // namespace

std::vector<FeatureToken> LexFeatures(const FeatureSource& source) { return Lexer(source).Run(); }

void FailAt(const FeatureSource& source, FeaturePlace place, const std::string& message) {
  std::string_view rest = source.text;
  for (int line = 1; line < place.line && !rest.empty(); ++line) {
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
  const std::string_view line = rest.substr(0, rest.find('\n'));
  std::string below;
  for (size_t i = 0; i + 1 < static_cast<size_t>(place.column) && i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if ((byte & 0xc0) != 0x80) below += byte == '\t' ? '\t' : ' ';
  }
  Fail(ErrorCode::kInvalidProgram, "{}:{}:{}: {}\n{:5} | {}\n      | {}^", source.path, place.line,
       place.column, message, place.line, line, below);
}

}  // namespace catamaran

// Tokens, reports and recovery.

#include "catamaran/ir/text_parser.h"

#include <fmt/format.h>

#include <utility>

#include "catamaran/base/suggest.h"

namespace catamaran::text {

void ValueScopes::Clear() {
  map_.clear();
  log_.clear();
  marks_.clear();
}

void ValueScopes::Pop() {
  while (log_.size() > marks_.back()) {
    Undo& undo = log_.back();
    if (undo.previous) {
      map_[undo.name] = *undo.previous;
    } else {
      map_.erase(undo.name);
    }
    log_.pop_back();
  }
  marks_.pop_back();
}

const ValueScopes::Binding* ValueScopes::Find(std::string_view name) const {
  auto it = map_.find(name);
  return it == map_.end() ? nullptr : &it->second;
}

void ValueScopes::Set(std::string_view name, Binding binding) {
  auto [it, added] = map_.try_emplace(name, binding);
  if (!marks_.empty()) {
    log_.push_back({name, added ? std::nullopt : std::optional<Binding>(it->second)});
  }
  it->second = binding;
}

std::vector<std::string_view> ValueScopes::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, binding] : map_) names.push_back(name);
  return names;
}

TextParser::TextParser(Session& session, std::string_view text, uint32_t file, uint32_t frame)
    : session_(session),
      text_(text),
      file_(file),
      frame_(frame),
      lexer_(text, file, &session.diagnostics),
      constant_(&session.ops->Get("constant")),
      read_(&session.ops->Get("read")),
      dim_(&session.ops->Get("dim")) {
  cur_ = lexer_.Next();
  next_ = lexer_.Next();
}

TextParser::Nesting::Nesting(TextParser& parser) : parser_(parser) {
  if (++parser_.depth_ > kMaxNesting) {
    --parser_.depth_;
    parser_.FailAt(parser_.cur_,
                   fmt::format("brackets, calls and blocks nest more than {} deep; give the "
                               "parts names",
                               kMaxNesting));
  }
}

void TextParser::Advance() {
  cur_ = next_;
  next_ = lexer_.Next();
}

void TextParser::Restore(const Cursor& cursor) {
  lexer_ = cursor.lexer;
  cur_ = cursor.current;
  next_ = cursor.next;
}

bool TextParser::Accept(TokenKind kind) {
  if (!Is(kind)) return false;
  Advance();
  return true;
}

Token TextParser::Expect(TokenKind kind, std::string_view what) {
  if (!Is(kind)) FailAt(cur_, fmt::format("expected {}, found {}", what, Describe(cur_)));
  Token token = cur_;
  Advance();
  return token;
}

bool TextParser::AtStatementEnd() const {
  return !Continues() || Is(TokenKind::kSemicolon) || Is(TokenKind::kRightBrace) ||
         Is(TokenKind::kEnd);
}

void TextParser::ExpectStatementEnd(std::string_view after) {
  if (AtStatementEnd()) {
    while (Accept(TokenKind::kSemicolon)) {
    }
    return;
  }
  FailAt(cur_,
         fmt::format("expected the end of the line after {}, found {}", after, Describe(cur_)));
}

Location TextParser::At(const Token& token) const { return {file_, token.line, token.column, 0}; }

Diagnostic& TextParser::Report(const Token& token, std::string message) {
  Location at = At(token);
  at.frame = frame_;
  Diagnostics& all = session_.diagnostics;
  if (all.count() >= 4 * Diagnostics::kMaxDiagnostics) throw ParseAborted{};
  return all.Add(at, std::move(message), token.length());
}

void TextParser::FailAt(const Token& token, std::string message, std::string note) {
  Diagnostic& d = Report(token, std::move(message));
  if (!note.empty()) d.notes.push_back({"", std::move(note)});
  throw ParseFailed{};
}

// Goes to the end of the statement that began at `begin`. Where brackets are open and close
// later, that is the end of the line on which they close; where they never close, the next
// line.
void TextParser::SkipStatement(const Token& begin, int base_brackets) {
  const int open = brackets_ - base_brackets;
  brackets_ = base_brackets;
  if (cur_.line == begin.line && cur_.column == begin.column && !Is(TokenKind::kEnd)) Advance();
  if (open > 0) {
    const Cursor here = Save();
    lexer_.Mute();
    int left = open, braces = 0;
    bool closed = false;
    for (uint32_t last = cur_.line + 50; cur_.line <= last && !Is(TokenKind::kEnd); Advance()) {
      if (Is(TokenKind::kLeftBrace)) ++braces;
      if (Is(TokenKind::kRightBrace) && --braces < 0) break;
      if (Is(TokenKind::kFn) && cur_.newline_before) break;
      if (Is(TokenKind::kLeftParen) || Is(TokenKind::kLeftBracket)) ++left;
      if (Is(TokenKind::kRightParen) || Is(TokenKind::kRightBracket)) --left;
      if (left == 0) {
        closed = true;
        Advance();
        break;
      }
    }
    if (!closed) Restore(here);
    if (closed) {
      // Report lexical mistakes again from here on.
      const Cursor after = Save();
      Restore(here);
      while (cur_.text.data() < after.current.text.data()) Advance();
    }
  }
  int braces = 0;
  while (!Is(TokenKind::kEnd)) {
    if (braces == 0 && (cur_.newline_before || Is(TokenKind::kSemicolon))) break;
    if (Is(TokenKind::kLeftBrace)) ++braces;
    if (Is(TokenKind::kRightBrace) && --braces < 0) break;
    Advance();
  }
  while (Accept(TokenKind::kSemicolon)) {
  }
}

void TextParser::SkipItem(const Token& begin) {
  brackets_ = 0;
  if (cur_.line == begin.line && cur_.column == begin.column && !Is(TokenKind::kEnd)) Advance();
  int braces = 0;
  while (!Is(TokenKind::kEnd)) {
    if (cur_.newline_before && braces <= 0) {
      const bool keyword = IsWord("param") || IsWord("var") || IsWord("table") ||
                           IsWord("channel") || IsWord("builder") || IsWord("import");
      if (keyword || Is(TokenKind::kFn)) break;
      if (Is(TokenKind::kName) && next_.Is(TokenKind::kAssign)) break;
    }
    if (Is(TokenKind::kLeftBrace)) ++braces;
    if (Is(TokenKind::kRightBrace) && --braces < 0 && scope_ && scope_->builder) break;
    Advance();
  }
}

std::string TextParser::DidYouMean(std::string_view word,
                                   std::vector<std::string_view> candidates) const {
  const std::string best = Suggest(word, candidates);
  return best.empty() ? "" : "; did you mean " + best + "?";
}

std::optional<uint32_t> TextParser::FindLaterDefinition(std::string_view name) const {
  Lexer lexer = lexer_;
  lexer.Mute();
  Token token = next_, previous = cur_;
  int braces = 0;
  while (!token.Is(TokenKind::kEnd)) {
    const Token next = lexer.Next();
    if (previous.Is(TokenKind::kFn) && token.text == name && token.Is(TokenKind::kName)) {
      return token.line;
    }
    if (previous.Is(TokenKind::kName) && token.Is(TokenKind::kName) && token.text == name &&
        (previous.text == "builder" || previous.text == "import")) {
      return token.line;
    }
    if (token.Is(TokenKind::kState) && token.text == name && previous.newline_before &&
        (previous.text == "param" || previous.text == "var" || previous.text == "table" ||
         previous.text == "channel")) {
      return token.line;
    }
    if (token.Is(TokenKind::kLeftBrace)) ++braces;
    if (token.Is(TokenKind::kRightBrace)) --braces;
    if (braces < 0 && token.newline_before && token.Is(TokenKind::kName) && token.text == name &&
        next.Is(TokenKind::kAssign)) {
      return token.line;
    }
    previous = token;
    token = next;
  }
  return std::nullopt;
}

}  // namespace catamaran::text

namespace catamaran {

Program Parse(std::string_view text, std::string_view file_name, std::shared_ptr<const OpSet> ops,
              const BuilderSet& builders, const ParseOptions& options) {
  if (text.size() > kMaxProgramText) {
    Fail(ErrorCode::kInvalidProgram, "{}: the text has {} bytes; a program has at most {}",
         file_name, text.size(), kMaxProgramText);
  }
  text::Session session{
      std::move(ops),          &builders, &options, std::make_shared<SourceTable>(), {},
      {std::string(file_name)}};
  const uint32_t file = session.sources->AddFile(file_name, text);
  // Tokens point into the table's copy, which stays.
  text::TextParser parser(session, session.sources->file_text(file), file, 0);
  Program program = parser.ParseProgram();
  session.diagnostics.ThrowIfAny(*session.sources);
  return program;
}

Program ParseFile(FileSystem& fs, const std::string& path, std::shared_ptr<const OpSet> ops,
                  const BuilderSet& builders) {
  ParseOptions options;
  options.load_import = [&fs](const std::string& import_path) -> std::optional<std::string> {
    if (!fs.Exists(import_path) || fs.IsDirectory(import_path)) return std::nullopt;
    return fs.ReadAll(import_path, kMaxProgramText);
  };
  return Parse(fs.ReadAll(path, kMaxProgramText), path, std::move(ops), builders, options);
}

}  // namespace catamaran

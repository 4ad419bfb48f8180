// Expressions: they become ops in the order in which they are read.

#include <fmt/format.h>

#include "catamaran/ir/text_parser.h"

namespace catamaran::text {

const char* InfixOp(TokenKind kind, int* precedence) {
  switch (kind) {
    case TokenKind::kOr:
      *precedence = 1;
      return "logical_or";
    case TokenKind::kAnd:
      *precedence = 2;
      return "logical_and";
    case TokenKind::kLess:
      *precedence = 4;
      return "less";
    case TokenKind::kLessEqual:
      *precedence = 4;
      return "less_equal";
    case TokenKind::kGreater:
      *precedence = 4;
      return "greater";
    case TokenKind::kGreaterEqual:
      *precedence = 4;
      return "greater_equal";
    case TokenKind::kEqual:
      *precedence = 4;
      return "equal";
    case TokenKind::kNotEqual:
      *precedence = 4;
      return "not_equal";
    case TokenKind::kPlus:
      *precedence = 5;
      return "add";
    case TokenKind::kMinus:
      *precedence = 5;
      return "sub";
    case TokenKind::kStar:
      *precedence = 6;
      return "mul";
    case TokenKind::kSlash:
      *precedence = 6;
      return "div";
    default:
      return nullptr;
  }
}

Op* TextParser::Emit(const OpDef& def, const Token& at, std::span<Value* const> operands,
                     int num_results) {
  auto op = std::make_unique<Op>(def, At(at));
  op->SetOperands(operands);
  for (int i = 0; i < num_results; ++i) op->AddResult();
  ++ops_emitted_;
  return block_->Insert(std::move(op));
}

Value* TextParser::ParseBinary(int min_precedence) {
  constexpr int kNotPrecedence = 3, kComparison = 4;
  Value* left = nullptr;
  auto get = [&](const Token& at, const char* name) -> const OpDef& {
    const OpDef* def = session_.ops->Find(name);
    if (!def) FailAt(at, fmt::format("this op set has no op {} for '{}'", name, at.text));
    return *def;
  };
  if (Is(TokenKind::kNot) && min_precedence <= kNotPrecedence) {
    Nesting nesting(*this);
    const Token at = cur_;
    Advance();
    Value* operand = ParseBinary(kNotPrecedence);
    left = Emit(get(at, "logical_not"), at, {&operand, 1}, 1)->result();
  } else {
    left = ParseUnary();
  }
  bool compared = false;
  while (Continues()) {
    int precedence = 0;
    const char* name = InfixOp(cur_.kind, &precedence);
    if (!name || precedence < min_precedence) break;
    const Token at = cur_;
    if (precedence == kComparison && std::exchange(compared, true)) {
      FailAt(at, "comparisons do not chain: write a < b and b < c");
    }
    if (precedence < kComparison) compared = false;
    Advance();
    Value* operands[] = {left, ParseBinary(precedence + 1)};
    left = Emit(get(at, name), at, operands, 1)->result();
  }
  return left;
}

Value* TextParser::ParseUnary() {
  if (!Is(TokenKind::kMinus)) return ParsePrimary();
  Nesting nesting(*this);
  const Token at = cur_;
  Advance();
  const Token number = cur_;
  if (Is(TokenKind::kInt)) {
    Advance();
    return Literal(at, Attr(IntValue(number, true)));
  }
  if (Is(TokenKind::kFloat) || Is(TokenKind::kInf)) {
    Advance();
    return Literal(at, Attr(-FloatValue(number)));
  }
  Value* operand = ParseUnary();
  const OpDef* def = session_.ops->Find("neg");
  if (!def) FailAt(at, "this op set has no op neg for '-'");
  return Emit(*def, at, {&operand, 1}, 1)->result();
}

Value* TextParser::Literal(const Token& at, Attr value) {
  Op* op = Emit(*constant_, at, {}, 1);
  op->attrs.push_back({"value", std::move(value)});
  return op->result();
}

Value* TextParser::SingleResult(Op* op, const Token& at) {
  if (op->num_results() == 1) return op->result();
  FailAt(at,
         fmt::format("{} yields {}, and one value is wanted here", at.text,
                     op->num_results() == 0 ? std::string("no value")
                                            : fmt::format("{} values", op->num_results())),
         op->num_results() > 1 ? fmt::format("take them first: a, b = {} …", at.text) : "");
}

Value* TextParser::ParsePrimary() {
  const Token token = cur_;
  switch (token.kind) {
    case TokenKind::kInt:
      Advance();
      return Literal(token, Attr(IntValue(token, false)));
    case TokenKind::kFloat:
    case TokenKind::kInf:
    case TokenKind::kNan:
      Advance();
      return Literal(token, Attr(FloatValue(token)));
    case TokenKind::kTrue:
    case TokenKind::kFalse:
      Advance();
      return Literal(token, Attr(token.Is(TokenKind::kTrue)));
    case TokenKind::kState:
      return ReadState(token);
    case TokenKind::kName:
      if ((next_.Is(TokenKind::kLeftParen) || next_.Is(TokenKind::kLeftBracket)) &&
          (brackets_ > 0 || !next_.newline_before)) {
        return SingleResult(ParseCall(1), token);
      }
      return ParseNameValue();
    case TokenKind::kTemp:
      return ParseNameValue();
    case TokenKind::kLeftParen: {
      Nesting nesting(*this);
      Advance();
      ++brackets_;
      Value* value = ParseExpr();
      Expect(TokenKind::kRightParen, "')'");
      --brackets_;
      return value;
    }
    case TokenKind::kIf:
      return SingleResult(ParseIf(), token);
    case TokenKind::kFor:
      return SingleResult(ParseFor(), token);
    case TokenKind::kWhile:
      return SingleResult(ParseWhile(), token);
    case TokenKind::kString:
      FailAt(token, "a string is no value; it may stand only as an argument of an op");
    default:
      FailAt(token, fmt::format("expected an expression, found {}", Describe(token)));
  }
}

Value* TextParser::ParseNameValue() {
  const Token token = cur_;
  if (const ValueScopes::Binding* binding = values_.Find(token.text)) {
    if (!binding->value) throw ParseFailed{};  // its definition was reported
    Advance();
    return binding->value;
  }
  const StaticParam* param = FindStatic(token.text);
  if ((param && param->kind == StaticKind::kInt) || (!param && IsDim(token.text))) {
    Advance();
    Op* op = Emit(*dim_, token, {}, 1);
    op->attrs.push_back({"value", Attr(Dim::Name(token.text))});
    return op->result();
  }
  if (param) {
    if (param->kind != StaticKind::kBool && param->kind != StaticKind::kFloat) {
      FailAt(token, fmt::format("{} is a static {}; it cannot be used as a value", token.text,
                                StaticKindName(param->kind)));
    }
    Advance();
    return Literal(token, Attr::Word(std::string(token.text)));
  }
  FailUnknownValue(token);
}

void TextParser::FailUnknownValue(const Token& at) {
  if (at.Is(TokenKind::kTemp)) FailAt(at, fmt::format("unknown value {}", at.text));
  std::vector<std::string_view> names = values_.Names();
  names.insert(names.end(), dims_.begin(), dims_.end());
  for (const StaticParam& p : function_->statics) names.push_back(p.name);
  for (const ItemScope* s = scope_; s; s = s->outer) {
    if (s->poisoned.count(std::string(at.text))) throw ParseFailed{};
    if (s->items->FindState(at.text)) {
      FailAt(at, fmt::format("unknown value '{}'; did you mean @{}?", at.text, at.text));
    }
    if (s->items->FindFunction(at.text) || s->items->FindInstance(at.text)) {
      FailAt(at, fmt::format("'{}' is a function, not a value; call it: {}(…)", at.text, at.text));
    }
  }
  std::string note;
  Lexer lexer = lexer_;
  lexer.Mute();
  Token token = next_;
  for (int braces = 0; !token.Is(TokenKind::kEnd) && braces >= 0 && note.empty();) {
    const Token next = lexer.Next();
    if (token.newline_before && token.text == at.text && next.Is(TokenKind::kAssign)) {
      note = fmt::format("it is defined later, at {}", WhereLine(token.line));
    }
    if (token.Is(TokenKind::kLeftBrace)) ++braces;
    if (token.Is(TokenKind::kRightBrace)) --braces;
    token = next;
  }
  FailAt(at, fmt::format("unknown name '{}'{}", at.text, DidYouMean(at.text, names)), note);
}

std::string TextParser::StatePath(const Token& at) {
  Advance();
  const std::string_view path = at.text;
  const std::string first(path.substr(0, path.find('.')));
  for (const ItemScope* s = scope_; s; s = s->outer) {
    if (s->items->FindState(path)) return std::string(path);
    if (s->poisoned_states.count(std::string(path)) || s->poisoned.count(first)) {
      throw ParseFailed{};
    }
    if (first.size() == path.size()) continue;
    if (s->items->FindInstance(first)) return std::string(path);
    if (const Import* import = s->items->FindImport(first)) {
      const std::string_view rest = path.substr(first.size() + 1);
      const std::string inner(rest.substr(0, rest.find('.')));
      if (import->program->items.FindState(rest) || import->program->items.FindInstance(inner) ||
          import->program->items.FindImport(inner)) {
        return std::string(path);
      }
    }
  }
  std::vector<std::string> spelled;
  for (const ItemScope* s = scope_; s; s = s->outer) {
    for (const Item& item : s->items->list()) {
      if (auto* state = std::get_if<std::unique_ptr<StateDecl>>(&item)) {
        spelled.push_back("@" + (*state)->name);
      }
    }
  }
  std::string note;
  if (auto line = FindLaterDefinition(path)) {
    note = fmt::format("it is declared later, at {}; a program reads from top to bottom",
                       WhereLine(*line));
  }
  const std::vector<std::string_view> names(spelled.begin(), spelled.end());
  FailAt(at,
         fmt::format("unknown state '@{}'{}", path, DidYouMean(fmt::format("@{}", path), names)),
         note);
}

Value* TextParser::ReadState(const Token& at) {
  std::string path = StatePath(at);
  for (const ItemScope* s = scope_; s; s = s->outer) {
    const StateDecl* state = s->items->FindState(path);
    if (!state) continue;
    if (state->kind == StateKind::kTable || state->kind == StateKind::kChannel) {
      FailAt(
          at,
          fmt::format("the {} @{} cannot be read as a value{}", StateKindName(state->kind), path,
                      state->kind == StateKind::kTable ? "; use lookup(@" + path + ", ids)" : ""),
          "declared at " + Where(state->at));
    }
    break;
  }
  Op* op = Emit(*read_, at, {}, 1);
  op->states.push_back(std::move(path));
  return op->result();
}

}  // namespace catamaran::text

// Constants: attributes of ops, settings of states, arguments of builders.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/ir/text_parser.h"

namespace catamaran::text {
namespace {

AttrKind KindOf(StaticKind kind) {
  switch (kind) {
    case StaticKind::kBool:
      return AttrKind::kBool;
    case StaticKind::kInt:
      return AttrKind::kInt;
    case StaticKind::kFloat:
      return AttrKind::kFloat;
    case StaticKind::kString:
      return AttrKind::kString;
    case StaticKind::kDType:
      return AttrKind::kDType;
    case StaticKind::kInts:
      return AttrKind::kInts;
    case StaticKind::kFunction:
    case StaticKind::kAny:
      break;
  }
  return AttrKind::kAny;
}

bool Fits(StaticKind found, AttrKind wanted) {
  switch (wanted) {
    case AttrKind::kBool:
      return found == StaticKind::kBool;
    case AttrKind::kFloat:
      return found == StaticKind::kFloat || found == StaticKind::kInt;
    case AttrKind::kString:
    case AttrKind::kWord:
      return found == StaticKind::kString;
    case AttrKind::kDType:
      return found == StaticKind::kDType;
    case AttrKind::kInts:
      return found == StaticKind::kInts;
    case AttrKind::kInt:
      return found == StaticKind::kInt;
    case AttrKind::kAny:
      return true;
  }
  return false;
}

const char* Wanted(AttrKind kind) {
  switch (kind) {
    case AttrKind::kBool:
      return "true or false";
    case AttrKind::kFloat:
      return "a number";
    case AttrKind::kString:
      return "a string in quotes";
    case AttrKind::kWord:
      return "a word";
    case AttrKind::kDType:
      return "a dtype such as f32";
    case AttrKind::kInts:
      return "a list such as [B, 16]";
    case AttrKind::kInt:
      return "an integer or a dimension";
    case AttrKind::kAny:
      return "a constant";
  }
  return "a constant";
}

}  // namespace

const StaticParam* TextParser::FindStatic(std::string_view name) const {
  if (function_) {
    for (const StaticParam& p : function_->statics) {
      if (p.name == name) return &p;
    }
  }
  for (const ItemScope* s = scope_; s; s = s->outer) {
    if (!s->builder) continue;
    for (const StaticParam& p : s->builder->params) {
      if (p.name == name) return &p;
    }
  }
  return nullptr;
}

bool TextParser::IsDim(std::string_view name) const {
  if (dims_.empty()) return false;
  return dims_.count(std::string(name)) > 0;
}

// Whether the current token begins a dimension expression: not a word of another meaning.
bool TextParser::BeginsDim() const {
  if (Is(TokenKind::kInt) || Is(TokenKind::kLeftParen) || Is(TokenKind::kFresh)) return true;
  if (Is(TokenKind::kMinus)) return !next_.Is(TokenKind::kFloat) && !next_.Is(TokenKind::kInf);
  if (!Is(TokenKind::kName)) return false;
  if (const StaticParam* p = FindStatic(cur_.text)) return p->kind == StaticKind::kInt;
  return IsDim(cur_.text);
}

Attr TextParser::ParseNumberAttr() {
  const Token token = cur_;
  if (Is(TokenKind::kFloat) || Is(TokenKind::kInf) || Is(TokenKind::kNan)) {
    Advance();
    return Attr(FloatValue(token));
  }
  if (Is(TokenKind::kMinus) && (next_.Is(TokenKind::kFloat) || next_.Is(TokenKind::kInf))) {
    Advance();
    const Token number = cur_;
    Advance();
    return Attr(-FloatValue(number));
  }
  return Attr(ParseDim(DimPlace::kAttribute));
}

Attr TextParser::ParseAttr(AttrKind kind, const std::vector<std::string>* choices) {
  const Token token = cur_;
  // A static argument by name.
  if (Is(TokenKind::kName)) {
    const StaticParam* p = FindStatic(token.text);
    const bool is_choice =
        choices && std::find(choices->begin(), choices->end(), token.text) != choices->end();
    if (p && !is_choice && p->kind != StaticKind::kInt) {
      if (!Fits(p->kind, kind)) {
        FailAt(token, fmt::format("{} is a static {}; {} is wanted here", token.text,
                                  StaticKindName(p->kind), Wanted(kind)));
      }
      Advance();
      return Attr::Word(std::string(token.text));
    }
  }
  auto wrong = [&]() {
    if (Is(TokenKind::kName) && values_.Find(token.text)) {
      FailAt(token, fmt::format("'{}' is a value; {} is wanted here", token.text, Wanted(kind)));
    }
    FailAt(token, fmt::format("expected {}, found {}", Wanted(kind), Describe(token)));
  };
  switch (kind) {
    case AttrKind::kInt:
      if (!BeginsDim() && !Is(TokenKind::kName)) wrong();
      return Attr(ParseDim(DimPlace::kAttribute));
    case AttrKind::kFloat:
      if (Is(TokenKind::kFloat) || Is(TokenKind::kInf) || Is(TokenKind::kNan) ||
          Is(TokenKind::kMinus) || BeginsDim()) {
        return ParseNumberAttr();
      }
      wrong();
      break;
    case AttrKind::kBool:
      if (!Is(TokenKind::kTrue) && !Is(TokenKind::kFalse)) wrong();
      Advance();
      return Attr(token.Is(TokenKind::kTrue));
    case AttrKind::kString:
      if (Is(TokenKind::kString)) {
        Advance();
        return Attr(StringValue(token));
      }
      if (!Is(TokenKind::kName)) wrong();
      Advance();
      return Attr::Word(std::string(token.text));
    case AttrKind::kWord: {
      if (!Is(TokenKind::kName)) wrong();
      if (choices && std::find(choices->begin(), choices->end(), token.text) == choices->end()) {
        std::string all;
        for (const std::string& c : *choices) all += (all.empty() ? "" : ", ") + c;
        std::vector<std::string_view> names(choices->begin(), choices->end());
        FailAt(token,
               fmt::format("'{}' is none of {}{}", token.text, all, DidYouMean(token.text, names)));
      }
      Advance();
      return Attr::Word(std::string(token.text));
    }
    case AttrKind::kDType: {
      const std::optional<DType> dtype =
          Is(TokenKind::kName) ? ParseDType(token.text) : std::nullopt;
      if (!dtype) wrong();
      Advance();
      return Attr(*dtype);
    }
    case AttrKind::kInts: {
      Attr::List list;
      if (!Is(TokenKind::kLeftBracket)) {
        if (!BeginsDim()) wrong();
        list.emplace_back(ParseDim(DimPlace::kAttribute));
        return Attr(std::move(list));
      }
      Advance();
      ++brackets_;
      while (!Is(TokenKind::kRightBracket)) {
        list.emplace_back(ParseDim(DimPlace::kAttribute));
        if (!Accept(TokenKind::kComma)) break;
      }
      Expect(TokenKind::kRightBracket, "',' or ']' in the list");
      --brackets_;
      return Attr(std::move(list));
    }
    case AttrKind::kAny:
      return ParseAnyAttr();
  }
  return {};
}

Attr TextParser::ParseAnyAttr() {
  Nesting nesting(*this);
  const Token token = cur_;
  switch (token.kind) {
    case TokenKind::kTrue:
    case TokenKind::kFalse:
      Advance();
      return Attr(token.Is(TokenKind::kTrue));
    case TokenKind::kString:
      Advance();
      return Attr(StringValue(token));
    case TokenKind::kState:
      return Attr(AttrState{StatePath(token)});
    case TokenKind::kLeftBracket: {
      Advance();
      ++brackets_;
      Attr::List list;
      while (!Is(TokenKind::kRightBracket)) {
        list.push_back(ParseAnyAttr());
        if (!Accept(TokenKind::kComma)) break;
      }
      Expect(TokenKind::kRightBracket, "',' or ']' in the list");
      --brackets_;
      return Attr(std::move(list));
    }
    case TokenKind::kName:
      if (next_.Is(TokenKind::kLeftParen) && !next_.newline_before) return ParseCallAttr();
      if (BeginsDim()) return Attr(ParseDim(DimPlace::kAttribute));
      if (std::optional<DType> dtype = ParseDType(token.text)) {
        Advance();
        return Attr(*dtype);
      }
      if (function_ && !FindStatic(token.text) && values_.Find(token.text)) {
        FailAt(token, fmt::format("'{}' is a value; a constant is wanted here", token.text));
      }
      Advance();
      return Attr::Word(std::string(token.text));
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kInf:
    case TokenKind::kNan:
    case TokenKind::kMinus:
    case TokenKind::kLeftParen:
    case TokenKind::kFresh:
      return ParseNumberAttr();
    default:
      FailAt(token, fmt::format("expected a constant, found {}", Describe(token)));
  }
}

// normal(std=0.01): what the words mean is known where they are used.
Attr TextParser::ParseCallAttr() {
  AttrCall call;
  call.at = At(cur_);
  call.name = cur_.text;
  Advance();
  Expect(TokenKind::kLeftParen, "'('");
  ++brackets_;
  while (!Is(TokenKind::kRightParen)) {
    if (Is(TokenKind::kName) && next_.Is(TokenKind::kAssign)) {
      const Token name = cur_;
      if (!FindAttr(call.named, name.text).empty()) {
        FailAt(name, fmt::format("{}: the argument {} is given twice", call.name, name.text));
      }
      Advance();
      Advance();
      Attr value = ParseAnyAttr();
      call.named.push_back({std::string(name.text), std::move(value)});
    } else {
      if (!call.named.empty()) {
        FailAt(cur_,
               fmt::format("{}: arguments without a name come before those with one", call.name));
      }
      call.positional.push_back(ParseAnyAttr());
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, fmt::format("',' or ')' in the arguments of {}", call.name));
  --brackets_;
  return Attr(std::move(call));
}

Attr TextParser::ParseStatic(StaticKind kind) {
  if (kind == StaticKind::kFunction) return ParseFunctionAttr();
  return ParseAttr(KindOf(kind));
}

Attr TextParser::ParseFunctionAttr() {
  if (!Is(TokenKind::kName)) {
    FailAt(cur_, fmt::format("expected a function or a builder's call, found {}", Describe(cur_)));
  }
  if (next_.Is(TokenKind::kLeftParen) && !next_.newline_before) {
    Nesting nesting(*this);
    return Attr(ParseBuilderCall());
  }
  Callee callee = ParseCallee();
  if (callee.op) {
    FailAt(callee.at, fmt::format("{} is an op; a function is wanted here", callee.op->name));
  }
  if (!callee.statics.empty()) {
    std::string name = callee.name;
    std::string inside;
    for (const NamedAttr& a : callee.statics) {
      inside += (inside.empty() ? "" : ", ") + a.name + "=" + a.value.ToString();
    }
    return Attr::Word(name + "[" + inside + "]");
  }
  return Attr::Word(callee.name);
}

}  // namespace catamaran::text

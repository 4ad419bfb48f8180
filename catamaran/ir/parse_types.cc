// Types, dimensions, numbers and strings.

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "catamaran/ir/text_parser.h"

namespace catamaran::text {
namespace {

// Digits may be grouped with underscores.
std::string_view WithoutUnderscores(std::string_view text, std::string& buffer) {
  if (text.find('_') == std::string_view::npos) return text;
  buffer.clear();
  for (char c : text) {
    if (c != '_') buffer += c;
  }
  return buffer;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

int64_t TextParser::IntValue(const Token& token, bool negative) {
  std::string buffer;
  const std::string_view digits = WithoutUnderscores(token.text, buffer);
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (error == std::errc::result_out_of_range || magnitude > kMax + (negative ? 1 : 0)) {
    FailAt(token, fmt::format("the integer {} does not fit 64 bits", token.text));
  }
  if (end != digits.data() + digits.size()) throw ParseFailed{};  // the lexer has said so
  return negative ? static_cast<int64_t>(0 - magnitude) : static_cast<int64_t>(magnitude);
}

double TextParser::FloatValue(const Token& token) {
  if (token.Is(TokenKind::kInf)) return std::numeric_limits<double>::infinity();
  if (token.Is(TokenKind::kNan)) return std::numeric_limits<double>::quiet_NaN();
  std::string buffer;
  const std::string_view digits = WithoutUnderscores(token.text, buffer);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    FailAt(token, fmt::format("the number {} is too large or too small for f64", token.text));
  }
  if (end != digits.data() + digits.size()) throw ParseFailed{};
  return value;
}

std::string TextParser::StringValue(const Token& token) {
  std::string_view text = token.text;
  if (text.size() < 2 || text.back() != '"') throw ParseFailed{};
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'x' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
               HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      FailAt(token, "a backslash in a string is followed by n, t, \", \\ or x and two digits");
    }
  }
  return out;
}

Type TextParser::ParseType(DimPlace place) {
  Nesting nesting(*this);
  const Token name = Expect(TokenKind::kName, "a type such as f32[B, 16]");
  const bool wraps = name.text == "rows" || name.text == "stack" || name.text == "chan";
  if (wraps && Is(TokenKind::kLess)) {
    Advance();
    const Token inner_at = cur_;
    Type inner = ParseType(place);
    Expect(TokenKind::kGreater, fmt::format("'>' to close {}<", name.text));
    if (name.text == "stack") return Type::Stack(std::move(inner));
    if (name.text == "chan") return Type::Chan(std::move(inner));
    if (!inner.is_tensor() || inner.is_ragged()) {
      FailAt(inner_at, "rows<…> holds a dense tensor type: the shape of one row");
    }
    return Type::Rows(inner.dtype(), {inner.dims().begin(), inner.dims().end()});
  }
  const std::optional<DType> dtype = ParseDType(name.text);
  if (!dtype) {
    std::vector<std::string_view> names{"rows", "stack", "chan"};
    for (DType d : kAllDTypes) names.push_back(Name(d));
    FailAt(name, fmt::format("unknown type '{}'{}", name.text, DidYouMean(name.text, names)),
           "a type is a dtype and dimensions: f32[B, 16]; dtypes: f64, f32, f16, bf16, i8, u8, "
           "i32, i64, u64, bool");
  }
  if (!Is(TokenKind::kLeftBracket) || !Continues()) {
    FailAt(name, fmt::format("{} needs its dimensions: {}[] is a scalar, {}[B] a vector", name.text,
                             name.text, name.text));
  }
  int ragged_axis = -1;
  std::vector<Dim> dims = ParseDims(place, &ragged_axis);
  return Type::Tensor(*dtype, std::move(dims), ragged_axis);
}

std::vector<Dim> TextParser::ParseDims(DimPlace place, int* ragged_axis) {
  Expect(TokenKind::kLeftBracket, "'['");
  ++brackets_;
  std::vector<Dim> dims;
  while (!Is(TokenKind::kRightBracket)) {
    const Token at = cur_;
    if (Accept(TokenKind::kStar)) {
      if (place == DimPlace::kState) FailAt(at, "the shape of a state cannot be ragged");
      if (dims.size() != 1) {
        FailAt(at, "only the second dimension may be ragged: f32[B, *T, 16]");
      }
      const Token name = cur_;
      if (!Is(TokenKind::kName) && !Is(TokenKind::kFresh)) {
        FailAt(cur_, fmt::format("expected the name of a ragged dimension after '*', found {}",
                                 Describe(cur_)));
      }
      *ragged_axis = 1;
      dims.push_back(ParseDimAtom(place));
      if (!dims.back().name()) FailAt(name, "a ragged dimension is one name");
    } else {
      dims.push_back(ParseDim(place));
      if (dims.back().is_constant() && dims.back().constant() < 0) {
        FailAt(at, "a dimension cannot be negative");
      }
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightBracket, "',' or ']' in the dimensions");
  --brackets_;
  return dims;
}

Dim TextParser::ParseDim(DimPlace place) {
  Nesting nesting(*this);
  Dim left = ParseDimProduct(place);
  while ((Is(TokenKind::kPlus) || Is(TokenKind::kMinus)) && Continues()) {
    const Token op = cur_;
    Advance();
    const Dim right = ParseDimProduct(place);
    try {
      left = op.Is(TokenKind::kPlus) ? left + right : left - right;
    } catch (const Error& e) {
      FailAt(op, e.what());
    }
  }
  return left;
}

Dim TextParser::ParseDimProduct(DimPlace place) {
  Dim left = ParseDimAtom(place);
  while ((Is(TokenKind::kStar) || Is(TokenKind::kSlash)) && Continues()) {
    const Token op = cur_;
    Advance();
    const Dim right = ParseDimAtom(place);
    try {
      left = op.Is(TokenKind::kStar) ? left * right : left / right;
    } catch (const Error& e) {
      FailAt(op, e.what());
    }
  }
  return left;
}

Dim TextParser::ParseDimAtom(DimPlace place) {
  const Token token = cur_;
  switch (token.kind) {
    case TokenKind::kInt:
      Advance();
      return Dim(IntValue(token, false));
    case TokenKind::kMinus: {
      Nesting nesting(*this);
      Advance();
      if (Is(TokenKind::kInt)) {
        const Token digits = cur_;
        Advance();
        return Dim(IntValue(digits, true));
      }
      const Dim operand = ParseDimAtom(place);
      try {
        return Dim(0) - operand;
      } catch (const Error& e) {
        FailAt(token, e.what());
      }
    }
    case TokenKind::kLeftParen: {
      Advance();
      ++brackets_;
      Dim inner = ParseDim(place);
      Expect(TokenKind::kRightParen, "')' in a dimension");
      --brackets_;
      return inner;
    }
    case TokenKind::kName:
    case TokenKind::kFresh:
      Advance();
      return DimName(token, place);
    default:
      FailAt(token,
             fmt::format("expected a dimension (an integer or a name), found {}", Describe(token)));
  }
}

Dim TextParser::DimName(const Token& token, DimPlace place) {
  if (token.Is(TokenKind::kFresh)) {
    if (!function_) FailAt(token, "the shape of a state is known: '?' may stand in functions only");
    if (token.text.size() > 1) {
      uint32_t number = 0;
      const char* end = token.text.data() + token.text.size();
      const auto [read, error] = std::from_chars(token.text.data() + 1, end, number);
      if (error != std::errc() || number >= (1u << 30)) {
        FailAt(token, fmt::format("{} is no number of an anonymous dimension", token.text));
      }
      if (place == DimPlace::kParameter) dims_.insert(std::string(token.text));
      function_->next_fresh = std::max(function_->next_fresh, number + 1);
      return Dim::Name(token.text);
    }
    if (place == DimPlace::kAttribute) {
      FailAt(token, "'?' makes a new dimension in a signature; it cannot be used as an argument");
    }
    const std::string fresh = fmt::format("?{}", function_->next_fresh++);
    if (place == DimPlace::kParameter) dims_.insert(fresh);
    return Dim::Name(fresh);
  }
  const StaticParam* param = FindStatic(token.text);
  if (param) {
    if (param->kind != StaticKind::kInt) {
      FailAt(token, fmt::format("{} is a static {}; a dimension wants an int", token.text,
                                StaticKindName(param->kind)));
    }
    return Dim::Name(token.text);
  }
  if (place == DimPlace::kState) {
    if (token.text.find('.') == std::string_view::npos) {
      std::vector<std::string_view> names;
      if (scope_ && scope_->builder) {
        for (const StaticParam& p : scope_->builder->params) names.push_back(p.name);
      }
      FailAt(token,
             fmt::format("unknown dimension '{}'{}", token.text, DidYouMean(token.text, names)),
             "the shape of a state uses integers and the builder's int parameters only");
    }
  }
  if (token.text.find('.') != std::string_view::npos) {
    FailAt(token, fmt::format("'{}' is no name of a dimension", token.text));
  }
  if (place == DimPlace::kParameter) {
    dims_.emplace(token.text);
  } else if (!IsDim(token.text)) {
    std::vector<std::string_view> names(dims_.begin(), dims_.end());
    if (function_) {
      for (const StaticParam& p : function_->statics) names.push_back(p.name);
    }
    if (values_.Find(token.text)) {
      FailAt(token,
             fmt::format("'{}' is a value; a dimension or constant is wanted here", token.text));
    }
    FailAt(token,
           fmt::format("unknown dimension '{}'{}", token.text, DidYouMean(token.text, names)),
           "dimensions are named by the types of the parameters and by static ints");
  }
  return Dim::Name(token.text);
}

}  // namespace catamaran::text

#include "catamaran/ir/type_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/tensor/shape.h"

namespace catamaran {
namespace {

constexpr int kDeepest = 100;  // brackets within brackets

class Parser {
 public:
  Parser(std::string_view text, uint32_t* next_fresh) : text_(text), next_fresh_(next_fresh) {}

  Type WholeType() {
    Type type = ReadType();
    End();
    return type;
  }

  Dim WholeDim() {
    Dim dim = Guarded([&] { return Sum(); });
    End();
    return dim;
  }

  std::vector<Dim> WholeDims() {
    std::vector<Dim> dims;
    const bool bracket = Accept('[');
    const char close = bracket ? ']' : '\0';
    while (Peek() != close) {
      dims.push_back(Guarded([&] { return Sum(); }));
      if (!Accept(',')) break;
    }
    if (bracket) Expect(']');
    End();
    return dims;
  }

 private:
  [[noreturn]] void FailHere(std::string_view what) const {
    Fail("\"{}\": {} at column {}", text_, what, place_ + 1);
  }

  // Arithmetic on dimensions can fail by itself; the message then gets the text too.
  template <class Read>
  Dim Guarded(Read read) {
    try {
      return read();
    } catch (const Error& e) {
      if (std::string_view(e.what()).starts_with('"')) throw;
      FailHere(e.what());
    }
  }

  char Peek() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t')) ++place_;
    return place_ < text_.size() ? text_[place_] : '\0';
  }
  bool Accept(char c) {
    if (Peek() != c) return false;
    ++place_;
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) FailHere(fmt::format("wanted '{}'", c));
  }
  void End() {
    if (Peek() != '\0' || place_ < text_.size()) FailHere("wanted the end");
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  std::string_view Name() {
    Peek();
    const size_t begin = place_;
    while (place_ < text_.size() && (IsLetter(text_[place_]) || IsDigit(text_[place_]))) ++place_;
    return text_.substr(begin, place_ - begin);
  }

  Type ReadType() {
    if (++depth_ > kDeepest) FailHere("this is nested too deep");
    if (!IsLetter(Peek())) FailHere("wanted a type such as f32[B, 16]");
    const size_t begin = place_;
    const std::string_view name = Name();
    if (name == "rows" || name == "stack" || name == "chan") {
      Expect('<');
      const Type inner = ReadType();
      Expect('>');
      --depth_;
      if (name == "stack") return Type::Stack(inner);
      if (name == "chan") return Type::Chan(inner);
      if (!inner.is_tensor() || inner.is_ragged()) {
        place_ = begin;
        FailHere("rows<…> holds a dense tensor type, the shape of one row,");
      }
      return Type::Rows(inner.dtype(), {inner.dims().begin(), inner.dims().end()});
    }
    const std::optional<DType> dtype = ParseDType(name);
    if (!dtype) {
      place_ = begin;
      FailHere(
          fmt::format("there is no dtype {}; wanted f64, f32, f16, bf16, i8, u8, i32, i64, "
                      "u64 or bool",
                      name));
    }
    if (Peek() != '[') FailHere(fmt::format("wanted dimensions ({}[] is a scalar)", name));
    ++place_;
    std::vector<Dim> dims;
    int ragged_axis = -1;
    while (Peek() != ']') {
      if (Accept('*')) {
        if (dims.size() != 1) FailHere("only the second dimension may be ragged; found '*'");
        ragged_axis = 1;
        dims.push_back(Guarded([&] { return Atom(); }));
        if (!dims.back().name()) FailHere("a ragged dimension is one name");
      } else {
        dims.push_back(Guarded([&] { return Sum(); }));
        if (dims.back().is_constant() && dims.back().constant() < 0) {
          FailHere("a dimension cannot be negative");
        }
      }
      if (!Accept(',')) break;
    }
    Expect(']');
    if (dims.size() > kMaxRank) {
      FailHere(fmt::format("a type has at most {} dimensions", kMaxRank));
    }
    --depth_;
    return Type::Tensor(*dtype, std::move(dims), ragged_axis);
  }

  Dim Sum() {
    if (++depth_ > kDeepest) FailHere("this is nested too deep");
    Dim left = Product();
    for (;;) {
      if (Accept('+')) {
        left = left + Product();
      } else if (Accept('-')) {
        left = left - Product();
      } else {
        break;
      }
    }
    --depth_;
    return left;
  }

  Dim Product() {
    Dim left = Atom();
    for (;;) {
      if (Accept('*')) {
        left = left * Atom();
      } else if (Accept('/')) {
        left = left / Atom();
      } else {
        return left;
      }
    }
  }

  Dim Atom() {
    if (++depth_ > kDeepest) FailHere("this is nested too deep");
    Dim dim = ReadAtom();
    --depth_;
    return dim;
  }

  Dim ReadAtom() {
    const char c = Peek();
    if (Accept('(')) {
      Dim inner = Sum();
      Expect(')');
      return inner;
    }
    if (Accept('-')) return Dim(0) - Atom();
    if (IsDigit(c)) {
      const size_t begin = place_;
      while (place_ < text_.size() && (IsDigit(text_[place_]) || text_[place_] == '_')) ++place_;
      std::string digits(text_.substr(begin, place_ - begin));
      digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
      int64_t value = 0;
      const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (result.ec != std::errc()) FailHere("an integer does not fit 64 bits");
      return Dim(value);
    }
    if (IsLetter(c)) return Dim::Name(Name());
    if (Accept('?')) {
      if (!next_fresh_)
        FailHere("'?' may stand in the types of a function's arguments only; found");
      return Dim::Name("?" + std::to_string((*next_fresh_)++));
    }
    FailHere("wanted a dimension, an integer or a name,");
  }

  std::string_view text_;
  uint32_t* next_fresh_;
  size_t place_ = 0;
  int depth_ = 0;
};

}  // namespace

Type ParseType(std::string_view text, uint32_t* next_fresh) {
  return Parser(text, next_fresh).WholeType();
}

Dim ParseDim(std::string_view text) { return Parser(text, nullptr).WholeDim(); }

std::vector<Dim> ParseDims(std::string_view text) { return Parser(text, nullptr).WholeDims(); }

}  // namespace catamaran

// ir/attr.h
//
// An Attr is a constant argument: of an op (`axis=1`), of a builder (`lr=0.001`,
// `grad(loss)`), of a state declaration (`normal(std=0.01)`), or of a call (a static
// argument). It is plain data with three equal spellings: C++, text and protobuf.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "catamaran/ir/dim.h"
#include "catamaran/ir/location.h"
#include "catamaran/tensor/dtype.h"

namespace catamaran {

class Attr;
struct NamedAttr;

// `normal(std=0.01)` in an argument: a builder, initializer, optimizer or policy by name.
struct AttrCall {
  std::string name;
  std::vector<Attr> positional;
  std::vector<NamedAttr> named;
  Location at;  // not part of equality
};

// A bare word: an enumerator (`sum`), a function, or a static argument, whichever the place asks
// for. Words that name a static argument are replaced when the function is specialised.
struct AttrWord {
  std::string word;  // may be dotted: "loss.pure"
  friend bool operator==(const AttrWord&, const AttrWord&) = default;
};

struct AttrState {
  std::string path;  // without the @
  friend bool operator==(const AttrState&, const AttrState&) = default;
};

class Attr {
 public:
  using List = std::vector<Attr>;

  Attr() = default;
  Attr(bool v) : value_(v) {}                                           // NOLINT
  Attr(int v) : value_(Dim(v)) {}                                       // NOLINT
  Attr(int64_t v) : value_(Dim(v)) {}                                   // NOLINT
  Attr(Dim v) : value_(std::move(v)) {}                                 // NOLINT
  Attr(double v) : value_(v) {}                                         // NOLINT
  Attr(const char* v) : value_(std::string(v)) {}                       // NOLINT
  Attr(std::string v) : value_(std::move(v)) {}                         // NOLINT
  Attr(DType v) : value_(v) {}                                          // NOLINT
  Attr(AttrWord v) : value_(std::move(v)) {}                            // NOLINT
  Attr(AttrState v) : value_(std::move(v)) {}                           // NOLINT
  Attr(AttrCall v);                                                     // NOLINT
  Attr(List v) : value_(std::make_shared<const List>(std::move(v))) {}  // NOLINT
  static Attr Ints(std::initializer_list<int64_t> values);
  static Attr Dims(const std::vector<Dim>& dims);
  static Attr Word(std::string word) { return Attr(AttrWord{std::move(word)}); }

  bool empty() const { return std::holds_alternative<std::monostate>(value_); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value_);
  }
  const List* list() const;
  const AttrCall* call() const;

  // Readings that throw an Error saying what was found and wanted. Integers read as doubles.
  int64_t AsInt() const;
  double AsDouble() const;
  bool AsBool() const;
  const Dim& AsDim() const;
  std::string AsWord() const;  // a word or a quoted string
  DType AsDType() const;
  std::vector<int64_t> AsInts() const;
  std::vector<Dim> AsDims() const;

  // Replaces names in dimensions, and words, by `replace` (which returns an empty Attr for
  // those that stay).
  Attr Substitute(FunctionRef<Attr(const std::string&)> replace) const;

  // Replaces names in dimensions only.
  Attr SubstituteDims(FunctionRef<std::optional<Dim>(const std::string&)> replace) const;

  // As in the text form.
  std::string ToString() const;
  friend bool operator==(const Attr& a, const Attr& b);

 private:
  std::variant<std::monostate, bool, Dim, double, std::string, DType, AttrWord, AttrState,
               std::shared_ptr<const AttrCall>, std::shared_ptr<const List>>
      value_;
};

struct NamedAttr {
  std::string name;
  Attr value;
  friend bool operator==(const NamedAttr&, const NamedAttr&) = default;
};

// The value of `name`, or an empty Attr.
const Attr& FindAttr(const std::vector<NamedAttr>& attrs, std::string_view name);

bool operator==(const AttrCall& a, const AttrCall& b);

// "1.0", "0.001": the shortest spelling that reads back to the same double, always with a
// point or an exponent, or `inf`, `-inf`, `nan`.
std::string FormatDouble(double value);
// With quotes and escapes.
std::string QuoteString(std::string_view text);

}  // namespace catamaran

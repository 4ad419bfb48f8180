// ir/dim.h
//
// A Dim is the size of one dimension: an integer expression over names (`B`, `B*T`,
// `(H+1)/2`), kept in a canonical form (a sum of products, sorted), so that equal expressions
// are equal values. `/` rounds down. Names stand for sizes that are bound when a function is
// called; they are never negative.
//
// A Dim is an immutable value; copying it is a pointer copy.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/function_ref.h"

namespace catamaran {

class Dim {
 public:
  Dim(int64_t value = 0) : constant_(value) {}  // NOLINT: integers are dimensions
  static Dim Name(std::string_view name);

  bool is_constant() const { return sum_ == nullptr; }
  // REQUIRES: is_constant().
  int64_t constant() const { return constant_; }
  // The name when the expression is one bare name, else null.
  const std::string* name() const;

  // Throw an Error when a coefficient leaves 64 bits or the expression grows past kMaxTerms.
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  // Rounds down; simplifies what divides evenly. Throws an Error when b is the constant 0.
  friend Dim operator/(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);

  enum class Truth { kYes, kNo, kUnknown };
  // Whether the two are equal for all, for no, or only for some values of their names.
  static Truth Equal(const Dim& a, const Dim& b);

  // Every name in the expression, once each, sorted.
  std::vector<std::string> Names() const;
  void ForEachName(FunctionRef<void(const std::string&)> visit) const;

  // Replaces names; `replace` returns nothing for those that stay.
  Dim Substitute(FunctionRef<std::optional<Dim>(const std::string&)> replace) const;

  // The value when all names are known. Empty when one is not. Throws an Error on a division
  // by zero or overflow.
  std::optional<int64_t> Evaluate(
      FunctionRef<std::optional<int64_t>(const std::string&)> value_of) const;

  std::string ToString() const;

  static constexpr size_t kMaxTerms = 256;

  // Implementation types, public for the printer and the protobuf form.
  struct Atom;
  struct Term;
  struct Sum;
  const Sum* sum() const { return sum_.get(); }

 private:
  explicit Dim(std::shared_ptr<const Sum> sum) : sum_(std::move(sum)) {}
  static Dim FromTerms(std::vector<Term> terms);
  std::vector<Term> Terms() const;

  int64_t constant_ = 0;
  std::shared_ptr<const Sum> sum_;  // null for a constant
};

// Either a name, or the quotient of two expressions.
struct Dim::Atom {
  std::string name;
  std::shared_ptr<const std::pair<Dim, Dim>> quotient;  // numerator, denominator
  std::string text;                                     // canonical spelling; the sort key
};

// coefficient * factor * factor …; no factors: the constant term.
struct Dim::Term {
  int64_t coefficient = 1;
  std::vector<Atom> factors;  // sorted by text
  std::string Key() const;    // the factors' spelling
};

struct Dim::Sum {
  std::vector<Term> terms;  // sorted by key; no zero coefficients; never a lone constant
  std::string text;         // canonical spelling
};

}  // namespace catamaran

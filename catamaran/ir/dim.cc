#include "catamaran/ir/dim.h"

#include <algorithm>
#include <map>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

int64_t CheckedAdd(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) Fail("a dimension overflows 64 bits: {} + {}", a, b);
  return r;
}

int64_t CheckedMul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) Fail("a dimension overflows 64 bits: {} * {}", a, b);
  return r;
}

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return CheckedMul(a, -1);
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

constexpr size_t kLongestSpelling = 4096;

}  // namespace

std::string Dim::Term::Key() const {
  std::string key;
  for (const Atom& a : factors) {
    if (!key.empty()) key += '*';
    key += a.text;
  }
  return key;
}

Dim Dim::Name(std::string_view name) {
  auto sum = std::make_shared<Sum>();
  sum->terms.push_back({1, {Atom{std::string(name), nullptr, std::string(name)}}});
  sum->text = name;
  return Dim(std::shared_ptr<const Sum>(std::move(sum)));
}

const std::string* Dim::name() const {
  if (!sum_ || sum_->terms.size() != 1) return nullptr;
  const Term& t = sum_->terms[0];
  if (t.coefficient != 1 || t.factors.size() != 1 || t.factors[0].quotient) return nullptr;
  return &t.factors[0].name;
}

std::vector<Dim::Term> Dim::Terms() const {
  if (sum_) return sum_->terms;
  if (constant_ == 0) return {};
  return {{constant_, {}}};
}

Dim Dim::FromTerms(std::vector<Term> terms) {
  std::map<std::string, Term> merged;
  for (Term& t : terms) {
    auto [it, added] = merged.try_emplace(t.Key(), t);
    if (!added) it->second.coefficient = CheckedAdd(it->second.coefficient, t.coefficient);
  }
  auto sum = std::make_shared<Sum>();
  int64_t constant = 0;
  for (auto& [key, t] : merged) {
    if (t.coefficient == 0) continue;
    if (t.factors.empty()) {
      constant = t.coefficient;
    } else {
      sum->terms.push_back(std::move(t));
    }
  }
  if (sum->terms.empty()) return Dim(constant);
  if (constant != 0) sum->terms.push_back({constant, {}});
  if (sum->terms.size() > kMaxTerms) {
    Fail("a dimension expression has more than {} terms", kMaxTerms);
  }
  for (const Term& t : sum->terms) {
    int64_t c = t.coefficient;
    std::string& text = sum->text;
    if (!text.empty()) {
      text += c < 0 ? "-" : "+";
      if (c < 0 && c != INT64_MIN) c = -c;
    }
    if (t.factors.empty()) {
      text += std::to_string(c);
    } else {
      if (c == -1) {
        text += "-";
      } else if (c != 1) {
        text += std::to_string(c) + "*";
      }
      text += t.Key();
    }
  }
  if (sum->text.size() > kLongestSpelling) Fail("a dimension expression is too long");
  return Dim(std::shared_ptr<const Sum>(std::move(sum)));
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(CheckedAdd(a.constant_, b.constant_));
  if (a.is_constant() && a.constant_ == 0) return b;
  if (b.is_constant() && b.constant_ == 0) return a;
  std::vector<Dim::Term> terms = a.Terms();
  for (Dim::Term& t : b.Terms()) terms.push_back(std::move(t));
  return Dim::FromTerms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(CheckedMul(a.constant_, b.constant_));
  if (a.is_constant() && a.constant_ == 1) return b;
  if (b.is_constant() && b.constant_ == 1) return a;
  const std::vector<Dim::Term> left = a.Terms(), right = b.Terms();
  if (left.size() * right.size() > Dim::kMaxTerms) {
    Fail("a dimension expression has more than {} terms", Dim::kMaxTerms);
  }
  std::vector<Dim::Term> terms;
  for (const Dim::Term& x : left) {
    for (const Dim::Term& y : right) {
      Dim::Term t{CheckedMul(x.coefficient, y.coefficient), x.factors};
      t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(t.factors.begin(), t.factors.end(),
                [](const Dim::Atom& p, const Dim::Atom& q) { return p.text < q.text; });
      terms.push_back(std::move(t));
    }
  }
  return Dim::FromTerms(std::move(terms));
}

Dim operator/(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.constant_ == 0) Fail("a dimension is divided by zero");
  if (a.is_constant() && b.is_constant()) return Dim(FloorDivide(a.constant_, b.constant_));
  if (b.is_constant() && b.constant_ == 1) return a;
  // Dividing by one product: terms that it divides evenly come out exactly; what is left over
  // stays under the quotient. (x*k + r)/k = x + r/k holds for rounding down.
  std::vector<Dim::Term> divisor = b.Terms();
  if (divisor.size() == 1) {
    const Dim::Term& d = divisor[0];
    std::vector<Dim::Term> whole, rest;
    for (const Dim::Term& t : a.Terms()) {
      std::vector<Dim::Atom> left = t.factors;
      bool divides = t.coefficient % d.coefficient == 0;
      for (const Dim::Atom& f : d.factors) {
        auto it = std::find_if(left.begin(), left.end(),
                               [&](const Dim::Atom& x) { return x.text == f.text; });
        if (it == left.end()) {
          divides = false;
          break;
        }
        left.erase(it);
      }
      if (divides) {
        whole.push_back({t.coefficient / d.coefficient, std::move(left)});
      } else {
        rest.push_back(t);
      }
    }
    if (!whole.empty()) {
      Dim sum = Dim::FromTerms(std::move(whole));
      if (rest.empty()) return sum;
      return sum + Dim::FromTerms(std::move(rest)) / b;
    }
  }
  if (a.is_constant() && a.constant_ == 0) return Dim(0);
  auto wrap = [](const Dim& d) {
    const bool plain = d.is_constant() ? d.constant() >= 0 : d.name() != nullptr;
    return plain ? d.ToString() : "(" + d.ToString() + ")";
  };
  Dim::Atom atom{"", std::make_shared<const std::pair<Dim, Dim>>(a, b), wrap(a) + "/" + wrap(b)};
  // Under a product a quotient keeps its brackets, or `2*(a/b)` would read as `(2*a)/b`.
  atom.text = "(" + atom.text + ")";
  return Dim::FromTerms({{1, {std::move(atom)}}});
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant()) {
    return a.is_constant() && b.is_constant() && a.constant_ == b.constant_;
  }
  return a.sum_ == b.sum_ || a.sum_->text == b.sum_->text;
}

Dim::Truth Dim::Equal(const Dim& a, const Dim& b) {
  if (a == b) return Truth::kYes;
  const Dim difference = a - b;
  if (difference.is_constant()) return difference.constant() == 0 ? Truth::kYes : Truth::kNo;
  return Truth::kUnknown;
}

void Dim::ForEachName(FunctionRef<void(const std::string&)> visit) const {
  if (!sum_) return;
  for (const Term& t : sum_->terms) {
    for (const Atom& a : t.factors) {
      if (a.quotient) {
        a.quotient->first.ForEachName(visit);
        a.quotient->second.ForEachName(visit);
      } else {
        visit(a.name);
      }
    }
  }
}

std::vector<std::string> Dim::Names() const {
  std::vector<std::string> names;
  ForEachName([&](const std::string& n) { names.push_back(n); });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Dim Dim::Substitute(FunctionRef<std::optional<Dim>(const std::string&)> replace) const {
  if (!sum_) return *this;
  if (const std::string* n = name()) {
    std::optional<Dim> r = replace(*n);
    return r ? *r : *this;
  }
  Dim total(0);
  for (const Term& t : sum_->terms) {
    Dim product(t.coefficient);
    for (const Atom& a : t.factors) {
      if (a.quotient) {
        product = product *
                  (a.quotient->first.Substitute(replace) / a.quotient->second.Substitute(replace));
      } else {
        std::optional<Dim> r = replace(a.name);
        product = product * (r ? *r : Name(a.name));
      }
    }
    total = total + product;
  }
  return total;
}

std::optional<int64_t> Dim::Evaluate(
    FunctionRef<std::optional<int64_t>(const std::string&)> value_of) const {
  if (!sum_) return constant_;
  int64_t total = 0;
  for (const Term& t : sum_->terms) {
    int64_t product = t.coefficient;
    for (const Atom& a : t.factors) {
      std::optional<int64_t> v;
      if (a.quotient) {
        std::optional<int64_t> n = a.quotient->first.Evaluate(value_of);
        std::optional<int64_t> d = a.quotient->second.Evaluate(value_of);
        if (!n || !d) return std::nullopt;
        if (*d == 0) Fail("the dimension {} divides by zero", a.text);
        v = FloorDivide(*n, *d);
      } else {
        v = value_of(a.name);
      }
      if (!v) return std::nullopt;
      product = CheckedMul(product, *v);
    }
    total = CheckedAdd(total, product);
  }
  return total;
}

std::string Dim::ToString() const {
  if (!sum_) return std::to_string(constant_);
  // A lone quotient needs no brackets.
  const Term& t = sum_->terms[0];
  if (sum_->terms.size() == 1 && t.coefficient == 1 && t.factors.size() == 1 &&
      t.factors[0].quotient) {
    return sum_->text.substr(1, sum_->text.size() - 2);
  }
  return sum_->text;
}

}  // namespace catamaran

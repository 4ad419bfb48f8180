#include "catamaran/ir/attr.h"

#include <fmt/format.h>

#include <cmath>

#include "catamaran/base/error.h"

namespace catamaran {

Attr::Attr(AttrCall v) : value_(std::make_shared<const AttrCall>(std::move(v))) {}

Attr Attr::Ints(std::initializer_list<int64_t> values) {
  List list;
  for (int64_t v : values) list.emplace_back(v);
  return Attr(std::move(list));
}

Attr Attr::Dims(const std::vector<Dim>& dims) { return Attr(List(dims.begin(), dims.end())); }

const Attr::List* Attr::list() const {
  auto* p = std::get_if<std::shared_ptr<const List>>(&value_);
  return p ? p->get() : nullptr;
}

const AttrCall* Attr::call() const {
  auto* p = std::get_if<std::shared_ptr<const AttrCall>>(&value_);
  return p ? p->get() : nullptr;
}

int64_t Attr::AsInt() const {
  if (auto* d = get<Dim>(); d && d->is_constant()) return d->constant();
  Fail("wanted an integer, found {}", ToString());
}

double Attr::AsDouble() const {
  if (auto* d = get<double>()) return *d;
  if (auto* d = get<Dim>(); d && d->is_constant()) return static_cast<double>(d->constant());
  Fail("wanted a number, found {}", ToString());
}

bool Attr::AsBool() const {
  if (auto* b = get<bool>()) return *b;
  Fail("wanted true or false, found {}", ToString());
}

const Dim& Attr::AsDim() const {
  if (auto* d = get<Dim>()) return *d;
  Fail("wanted an integer or a dimension, found {}", ToString());
}

std::string Attr::AsWord() const {
  if (auto* w = get<AttrWord>()) return w->word;
  if (auto* s = get<std::string>()) return *s;
  Fail("wanted a word, found {}", ToString());
}

DType Attr::AsDType() const {
  if (auto* d = get<DType>()) return *d;
  Fail("wanted a dtype such as f32, found {}", ToString());
}

std::vector<int64_t> Attr::AsInts() const {
  const List* l = list();
  if (!l) Fail("wanted a list of integers, found {}", ToString());
  std::vector<int64_t> out;
  for (const Attr& a : *l) out.push_back(a.AsInt());
  return out;
}

std::vector<Dim> Attr::AsDims() const {
  const List* l = list();
  if (!l) Fail("wanted a list of dimensions, found {}", ToString());
  std::vector<Dim> out;
  for (const Attr& a : *l) out.push_back(a.AsDim());
  return out;
}

Attr Attr::Substitute(FunctionRef<Attr(const std::string&)> replace) const {
  if (auto* d = get<Dim>()) {
    if (d->is_constant()) return *this;
    if (const std::string* n = d->name()) {
      Attr r = replace(*n);
      return r.empty() ? *this : r;
    }
    return Attr(d->Substitute([&](const std::string& n) -> std::optional<Dim> {
      Attr r = replace(n);
      if (r.empty()) return std::nullopt;
      return r.AsDim();
    }));
  }
  if (auto* w = get<AttrWord>()) {
    Attr r = replace(w->word);
    return r.empty() ? *this : r;
  }
  if (const List* l = list()) {
    List out;
    for (const Attr& a : *l) out.push_back(a.Substitute(replace));
    return Attr(std::move(out));
  }
  if (const AttrCall* c = call()) {
    AttrCall out{c->name, {}, {}, c->at};
    for (const Attr& a : c->positional) out.positional.push_back(a.Substitute(replace));
    for (const NamedAttr& a : c->named) out.named.push_back({a.name, a.value.Substitute(replace)});
    return Attr(std::move(out));
  }
  return *this;
}

Attr Attr::SubstituteDims(FunctionRef<std::optional<Dim>(const std::string&)> replace) const {
  if (auto* d = get<Dim>()) return d->is_constant() ? *this : Attr(d->Substitute(replace));
  if (const List* l = list()) {
    List out;
    for (const Attr& a : *l) out.push_back(a.SubstituteDims(replace));
    return Attr(std::move(out));
  }
  return *this;
}

std::string FormatDouble(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string QuoteString(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string Attr::ToString() const {
  if (empty()) return "none";
  if (auto* b = get<bool>()) return *b ? "true" : "false";
  if (auto* d = get<Dim>()) return d->ToString();
  if (auto* d = get<double>()) return FormatDouble(*d);
  if (auto* s = get<std::string>()) return QuoteString(*s);
  if (auto* d = get<DType>()) return std::string(Name(*d));
  if (auto* w = get<AttrWord>()) return w->word;
  if (auto* s = get<AttrState>()) return "@" + s->path;
  std::string out;
  if (const List* l = list()) {
    for (const Attr& a : *l) out += (out.empty() ? "" : ", ") + a.ToString();
    return "[" + out + "]";
  }
  const AttrCall& c = *call();
  for (const Attr& a : c.positional) out += (out.empty() ? "" : ", ") + a.ToString();
  for (const NamedAttr& a : c.named) {
    out += (out.empty() ? "" : ", ") + a.name + "=" + a.value.ToString();
  }
  return c.name + "(" + out + ")";
}

bool operator==(const AttrCall& a, const AttrCall& b) {
  return a.name == b.name && a.positional == b.positional && a.named == b.named;
}

bool operator==(const Attr& a, const Attr& b) {
  if (a.value_.index() != b.value_.index()) return false;
  if (auto* l = a.list()) return *l == *b.list();
  if (auto* c = a.call()) return *c == *b.call();
  if (auto* x = a.get<double>()) {
    const double y = *b.get<double>();
    return *x == y || (std::isnan(*x) && std::isnan(y));
  }
  return a.value_ == b.value_;
}

const Attr& FindAttr(const std::vector<NamedAttr>& attrs, std::string_view name) {
  static const Attr kNone;
  for (const NamedAttr& a : attrs) {
    if (a.name == name) return a.value;
  }
  return kNone;
}

}  // namespace catamaran

// Structural equality of programs, with the first difference in words.

#include <fmt/format.h>

#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {
namespace {

class Comparison {
 public:
  bool Same(const Function& a, const Function& b) {
    const std::string where = "function " + a.name;
    if (a.name != b.name) return Differ("function names", a.name, b.name);
    if (!SameStatics(a.statics, b.statics, where) || a.order != b.order) {
      return Differ(where + ": static arguments");
    }
    if (a.results_declared != b.results_declared || a.results.size() != b.results.size()) {
      return Differ(where + ": results");
    }
    for (size_t i = 0; i < a.results.size(); ++i) {
      if (a.results[i].name != b.results[i].name) return Differ(where + ": result names");
      if (!SameType(a.results[i].type, b.results[i].type)) {
        return Differ(where + ": result types", a.results[i].type.ToString(),
                      b.results[i].type.ToString());
      }
    }
    return Same(a.body(), b.body(), where);
  }

  bool Same(const Items& a, const Items& b) {
    if (a.list().size() != b.list().size()) {
      return Differ("number of items", std::to_string(a.list().size()),
                    std::to_string(b.list().size()));
    }
    for (size_t i = 0; i < a.list().size(); ++i) {
      if (a.list()[i].index() != b.list()[i].index()) {
        return Differ(fmt::format("kind of item {}", i));
      }
      const bool same = std::visit(
          [&](const auto& p) {
            using P = std::decay_t<decltype(p)>;
            return SameItem(*p, *std::get<P>(b.list()[i]));
          },
          a.list()[i]);
      if (!same) return false;
    }
    return true;
  }

  bool Same(const Program& a, const Program& b) {
    if (a.name != b.name) return Differ("program names", a.name, b.name);
    if (a.flat != b.flat) return Differ("flat and as written");
    return Same(a.items, b.items);
  }

  std::string why;

 private:
  bool Differ(std::string what, const std::string& a = {}, const std::string& b = {}) {
    if (why.empty()) {
      why = std::move(what) + (a.empty() && b.empty() ? " differ" : ": " + a + " and " + b);
    }
    return false;
  }

  // A type that is not inferred yet equals any.
  static bool SameType(const Type& a, const Type& b) { return !a || !b || a == b; }

  bool SameStatics(const std::vector<StaticParam>& a, const std::vector<StaticParam>& b,
                   const std::string& where) {
    if (a.size() != b.size()) return Differ(where + ": number of static arguments");
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].name != b[i].name || a[i].kind != b[i].kind ||
          !(a[i].default_value == b[i].default_value)) {
        return Differ(where + ": static argument", a[i].name, b[i].name);
      }
    }
    return true;
  }

  bool SameItem(const StateDecl& a, const StateDecl& b) {
    if (a.kind != b.kind || a.name != b.name || !(a.type == b.type) || !(a.init == b.init) ||
        !(a.settings == b.settings)) {
      return Differ("state", "@" + a.name, "@" + b.name);
    }
    return true;
  }
  bool SameItem(const Function& a, const Function& b) { return Same(a, b); }
  bool SameItem(const Instance& a, const Instance& b) {
    if (a.name != b.name || !(a.call == b.call)) {
      return Differ("instance", a.name + " = " + Attr(a.call).ToString(),
                    b.name + " = " + Attr(b.call).ToString());
    }
    return true;
  }
  bool SameItem(const BuilderDecl& a, const BuilderDecl& b) {
    if (a.name != b.name) return Differ("builder names", a.name, b.name);
    return SameStatics(a.params, b.params, "builder " + a.name) && Same(a.items, b.items);
  }
  bool SameItem(const Import& a, const Import& b) {
    if (a.alias != b.alias || a.path != b.path) return Differ("import", a.alias, b.alias);
    return Same(*a.program, *b.program);
  }

  bool SameValue(const Value* a, const Value* b) {
    if (!a || !b) return a == b;
    auto it = pairs_.find(a);
    return it != pairs_.end() && it->second == b;
  }

  bool Pair(const Value* a, const Value* b, const std::string& where) {
    if (a->name != b->name) return Differ(where + ": value names", a->name, b->name);
    if (!SameType(a->type, b->type)) {
      return Differ(where + ": type of " + a->name, a->type.ToString(), b->type.ToString());
    }
    pairs_[a] = b;
    return true;
  }

  bool Same(const Block& a, const Block& b, const std::string& where) {
    if (a.num_args() != b.num_args()) return Differ(where + ": number of arguments");
    for (int i = 0; i < a.num_args(); ++i) {
      if (!Pair(a.arg(i), b.arg(i), where)) return false;
    }
    Op* x = a.first();
    Op* y = b.first();
    for (; x && y; x = x->next(), y = y->next()) {
      if (!Same(*x, *y, where)) return false;
    }
    if (x || y) return Differ(where + ": number of ops");
    return true;
  }

  bool Same(const Op& a, const Op& b, const std::string& where) {
    if (a.name() != b.name()) return Differ(where + ": op", a.name(), b.name());
    const std::string here = where + ": " + a.name();
    if (a.callee != b.callee) return Differ(here + ": callee", a.callee, b.callee);
    if (a.states != b.states) return Differ(here + ": states");
    if (a.attrs.size() != b.attrs.size()) return Differ(here + ": number of attributes");
    for (const NamedAttr& attr : a.attrs) {
      const Attr& other = FindAttr(b.attrs, attr.name);
      if (!(attr.value == other)) {
        return Differ(here + ": attribute " + attr.name, attr.value.ToString(), other.ToString());
      }
    }
    if (a.num_operands() != b.num_operands() || a.num_results() != b.num_results() ||
        a.blocks.size() != b.blocks.size()) {
      return Differ(here + ": number of operands, results or blocks");
    }
    for (int i = 0; i < a.num_operands(); ++i) {
      if (!SameValue(a.operand(i), b.operand(i))) {
        return Differ(fmt::format("{}: operand {}", here, i));
      }
    }
    for (int i = 0; i < a.num_results(); ++i) {
      if (!Pair(a.result(i), b.result(i), here)) return false;
    }
    for (size_t i = 0; i < a.blocks.size(); ++i) {
      if (!Same(*a.blocks[i], *b.blocks[i], here)) return false;
    }
    return true;
  }

  std::unordered_map<const Value*, const Value*> pairs_;
};

template <class T>
bool Compare(const T& a, const T& b, std::string* why) {
  Comparison comparison;
  const bool same = comparison.Same(a, b);
  if (why) *why = comparison.why;
  return same;
}

}  // namespace

bool Equal(const Function& a, const Function& b, std::string* why) { return Compare(a, b, why); }
bool Equal(const Program& a, const Program& b, std::string* why) { return Compare(a, b, why); }

}  // namespace catamaran

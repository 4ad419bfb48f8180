#include "catamaran/ir/printer.h"

#include <fmt/format.h>

#include <cctype>

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/print_function.h"

namespace catamaran {
namespace text {
namespace {

constexpr size_t kLineWidth = 100;

// Where a line may be broken: behind a comma, or behind an infix operator.
bool MayBreakBefore(std::string_view line, size_t space) {
  if (line[space - 1] == ',') return true;
  const size_t begin = line.rfind(' ', space - 1);
  if (begin == std::string_view::npos) return false;
  const std::string_view word = line.substr(begin + 1, space - begin - 1);
  for (std::string_view op : {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "or"}) {
    if (word == op) return true;
  }
  return false;
}

void AppendState(std::string& out, int indent, const StateDecl& state) {
  std::string text = fmt::format("{} @{} : ", StateKindName(state.kind), state.name);
  if (state.kind == StateKind::kTable) text += "u64 -> ";
  text +=
      state.kind == StateKind::kChannel ? state.type.element().ToString() : state.type.ToString();
  if (!state.init.empty()) text += " = " + state.init.ToString();
  if (state.settings.empty()) return AppendLine(out, indent, text);
  if (state.settings.size() == 1) {
    const NamedAttr& s = state.settings[0];
    return AppendLine(out, indent, text + " { " + s.name + " = " + s.value.ToString() + " }");
  }
  AppendLine(out, indent, text + " {");
  for (const NamedAttr& s : state.settings) {
    AppendLine(out, indent + 1, s.name + " = " + s.value.ToString());
  }
  AppendLine(out, indent, "}");
}

// "// reads @a, @b": as many lines as it takes.
void AppendPaths(std::string& out, int indent, std::string_view verb,
                 const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  const std::string margin = std::string(2 * static_cast<size_t>(indent), ' ') + "// ";
  std::string line = margin + std::string(verb);
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string word = " @" + paths[i] + (i + 1 < paths.size() ? "," : "");
    if (line.size() + word.size() > kLineWidth) {
      out += line + "\n";
      line = margin + " ";
    }
    line += word;
  }
  out += line + "\n";
}

void AppendEffects(std::string& out, int indent, const Function& f, const Program& program) {
  const Effects effects = InferEffects(program, f);
  AppendPaths(out, indent, "reads", effects.reads);
  AppendPaths(out, indent, "writes", effects.writes);
}

class ItemPrinter {
 public:
  ItemPrinter(const Program& program, const PrintOptions& options, std::string& out)
      : program_(program), options_(options), out_(out) {}

  void PrintItems(const PrintScope& scope, int indent, bool blank_first) {
    // Functions and builders stand apart; the rest in groups.
    bool first = !blank_first, apart_before = false;
    size_t kind_before = ~size_t{0};
    for (const Item& item : scope.items->list()) {
      const bool apart = std::holds_alternative<std::unique_ptr<Function>>(item) ||
                         std::holds_alternative<std::unique_ptr<BuilderDecl>>(item);
      const bool blank = apart || apart_before || kind_before == ~size_t{0};
      if (blank && !first) out_ += "\n";
      first = false;
      apart_before = apart;
      kind_before = item.index();
      std::visit([&](const auto& p) { PrintItem(*p, scope, indent); }, item);
    }
  }

 private:
  void PrintItem(const StateDecl& s, const PrintScope&, int indent) {
    AppendState(out_, indent, s);
  }
  void PrintItem(const Function& f, const PrintScope& scope, int indent) {
    if (program_.flat) AppendEffects(out_, indent, f, program_);
    FunctionPrinter(f, scope, options_, indent, out_).Print();
  }
  void PrintItem(const Instance& i, const PrintScope&, int indent) {
    AppendLine(out_, indent, i.name + " = " + Attr(i.call).ToString());
  }
  void PrintItem(const Import& i, const PrintScope&, int indent) {
    AppendLine(out_, indent, "import " + i.alias + " " + QuoteString(i.path));
  }
  void PrintItem(const BuilderDecl& b, const PrintScope& scope, int indent) {
    std::string head = "builder " + b.name + "(";
    for (size_t i = 0; i < b.params.size(); ++i) {
      const StaticParam& p = b.params[i];
      if (i > 0) head += ", ";
      head += p.name + ": " + std::string(StaticKindName(p.kind));
      if (!p.default_value.empty()) head += " = " + p.default_value.ToString();
    }
    AppendLine(out_, indent, head + ") {");
    PrintItems({&b.items, &b, &scope}, indent + 1, false);
    AppendLine(out_, indent, "}");
  }

  const Program& program_;
  const PrintOptions& options_;
  std::string& out_;
};

}  // namespace

void AppendLine(std::string& out, int indent, std::string_view line, std::string_view comment) {
  size_t margin = 2 * static_cast<size_t>(indent);
  out.append(margin, ' ');
  while (margin + line.size() > kLineWidth) {
    size_t best = 0;
    bool quoted = false;
    int named = 0;  // brackets that belong to a name, f32[B, 16] or net[training=true, n=2]
    for (size_t i = 0; i < line.size() && (margin + i <= kLineWidth || best == 0); ++i) {
      if (line[i] == '\\' && quoted) {
        ++i;
      } else if (line[i] == '"') {
        quoted = !quoted;
      } else if (quoted) {
        continue;
      } else if (line[i] == '[') {
        if (named > 0 || (i > 0 && (std::isalnum(static_cast<unsigned char>(line[i - 1])) ||
                                    line[i - 1] == '_' || line[i - 1] == ']'))) {
          ++named;
        }
      } else if (line[i] == ']') {
        if (named > 0) --named;
      } else if (line[i] == ' ' && named == 0 && i > 0 && MayBreakBefore(line, i)) {
        best = i;
      }
    }
    if (best == 0) break;
    out.append(line.substr(0, best));
    line.remove_prefix(best + 1);
    margin = 2 * static_cast<size_t>(indent) + 4;
    out += '\n';
    out.append(margin, ' ');
  }
  out.append(line);
  if (!comment.empty()) {
    out += "  // ";
    out.append(comment);
  }
  out += '\n';
}

}  // namespace text

std::string Print(const Program& program, const PrintOptions& options) {
  std::string out = "program " + program.name + "\n";
  text::ItemPrinter(program, options, out).PrintItems({&program.items}, 0, true);
  return out;
}

std::string Print(const Function& function, const Program& program, const PrintOptions& options) {
  std::string out;
  const text::PrintScope scope{&program.items};
  text::FunctionPrinter(function, scope, options, 0, out).Print();
  return out;
}

}  // namespace catamaran

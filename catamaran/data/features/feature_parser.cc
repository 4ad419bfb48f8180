#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "catamaran/base/error.h"
#include "catamaran/data/features/feature_lexer.h"
#include "catamaran/data/features/feature_syntax.h"

namespace catamaran {
namespace {

using Token = FeatureToken;
using Kind = FeatureToken::Kind;
using Expr = FeatureExpr;

constexpr int kMaxDepth = 100;
constexpr size_t kMaxBytes = size_t{16} << 20;

// From the loosest to the tightest; each is left-associative.
const std::vector<std::vector<std::string_view>> kOperators = {
    {"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/"}};

class Parser {
 public:
  explicit Parser(std::shared_ptr<const FeatureSource> source)
      : source_(std::move(source)), tokens_(LexFeatures(*source_)) {
    syntax_.source = source_;
  }

  FeatureSyntax Run() {
    while (Peek().kind != Kind::kEnd) {
      Statement();
      if (Peek().kind != Kind::kNewline) Wanted("the end of the line");
      ++at_;
    }
    return std::move(syntax_);
  }

 private:
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool IsSign(std::string_view sign, size_t ahead = 0) const {
    return Peek(ahead).kind == Kind::kSign && Peek(ahead).text == sign;
  }
  bool IsWord(std::string_view word, size_t ahead = 0) const {
    return Peek(ahead).kind == Kind::kName && !Peek(ahead).quoted && Peek(ahead).text == word;
  }
  bool Take(std::string_view sign) {
    if (!IsSign(sign)) return false;
    ++at_;
    return true;
  }
  void Need(std::string_view sign) {
    if (!Take(sign)) Wanted(fmt::format("'{}'", sign));
  }
  std::string Name(std::string_view what) {
    if (Peek().kind != Kind::kName) Wanted(what);
    return tokens_[at_++].text;
  }
  std::string Text(std::string_view what) {
    if (Peek().kind != Kind::kText) Wanted(what);
    return tokens_[at_++].text;
  }
  [[noreturn]] void Wanted(std::string_view what) const {
    const Token& found = Peek();
    const bool end = found.kind == Kind::kNewline || found.kind == Kind::kEnd;
    FailAt(*source_, found.place,
           fmt::format("wanted {}, found {}", what,
                       end ? "the end of the line" : fmt::format("'{}'", found.text)));
  }

  void Statement() {
    const FeaturePlace place = Peek().place;
    if (IsWord("input") && !IsSign("=", 1)) {
      ++at_;
      do Input();
      while (Take(","));
    } else if (IsWord("data") && IsSign("(", 1)) {
      at_ += 2;
      for (FeatureSetting& setting : Settings()) syntax_.data.push_back(std::move(setting));
    } else if (IsWord("file") && !IsSign("=", 1)) {
      ++at_;
      SideFile(place);
    } else if (IsWord("plugin") && Peek(1).kind == Kind::kText) {
      ++at_;
      syntax_.plugins.push_back({Text("the path of a library"), place});
    } else {
      Line();
    }
  }

  void Input() {
    const FeaturePlace place = Peek().place;
    const std::string first = Name("the name of a column");
    std::vector<std::string> names = {first};
    if (Take("..")) {
      const std::string last = Name("the last name of the range");
      names = ExpandRange(first, last);
      if (names.empty()) FailRange(place, first, last);
    }
    Need(":");
    std::string kind = Name("a kind: f32, i64, u8, ids, weighted_ids or string");
    if (Take("[")) {
      kind += "[";
      do {
        if (Peek().kind != Kind::kNumber) Wanted("a size");
        kind += tokens_[at_++].text + ", ";
      } while (Take(","));
      Need("]");
      kind.replace(kind.size() - 2, 2, "]");
    }
    std::optional<Expr> otherwise;
    if (Take("=")) otherwise = Unary();
    for (const std::string& name : names) {
      Column column;
      try {
        column = Schema::Parse("x: " + kind)[0];
        column.name = name;
        if (name != "x") Schema({column, Column::Dense("x")});  // checks the name
      } catch (const Error&) {
        FailAt(*source_, place,
               fmt::format("'{}' is no kind of column; wanted f32, i64 or u8 with or without a "
                           "shape as in f32[13], ids, weighted_ids or string",
                           kind));
      }
      if (!inputs_.insert(name).second) {
        FailAt(*source_, place, fmt::format("the column '{}' is declared twice", name));
      }
      if (otherwise) syntax_.defaults.push_back(DefaultOf(column, *otherwise));
      syntax_.inputs.push_back(std::move(column));
    }
    if (syntax_.inputs.size() > Schema::kMaxColumns) FailAt(*source_, place, "too many columns");
  }

  // Of `input age: f32 = 0`: a number, a text in quotes, or `missing`.
  ColumnDefault DefaultOf(const Column& column, const Expr& value) const {
    ColumnDefault out{.column = column.name};
    const bool dense = column.kind == ColumnKind::kDense;
    if (value.kind == Expr::Kind::kName && value.text == "missing") {
      if (!dense || column.dtype == DType::kF32) return out;
    } else if (value.kind == Expr::Kind::kText && column.kind == ColumnKind::kString) {
      out.text = value.text;
      return out;
    } else if (value.kind == Expr::Kind::kNumber && dense) {
      const double most = column.dtype == DType::kU8 ? 255 : 0x1p53;
      const double least = column.dtype == DType::kU8 ? 0 : -0x1p53;
      const bool fits =
          value.number == std::floor(value.number) && value.number >= least && value.number <= most;
      out.number = value.number;
      if (fits || column.dtype == DType::kF32) return out;
    }
    FailAt(*source_, value.place,
           fmt::format("{} is no default of the column '{}' ({}); a default is {}", ToString(value),
                       column.name, column.KindText(),
                       column.kind == ColumnKind::kString ? "a text in quotes, or missing"
                       : !dense                           ? "missing"
                       : column.dtype == DType::kF32      ? "a number, or missing"
                                                          : "a whole number of its kind"));
  }

  void SideFile(FeaturePlace place) {
    FeatureSideFile file{.name = Name("a name for the file"), .place = place};
    Define(file.name, place, names_);
    Need("(");
    file.path = Text("the path of the file, in quotes");
    if (Take(",")) {
      file.settings = Settings();
    } else {
      Need(")");
    }
    syntax_.files.push_back(std::move(file));
  }

  void Line() {
    FeatureLine line;
    line.place = Peek().place;
    if (IsWord("let") && Peek(1).kind == Kind::kName) {
      ++at_;
      line.output = false;
    }
    line.name = Name("a line such as `name = function(column)`");
    Define(line.name, line.place, line.output ? outputs_ : names_);
    Need("=");
    line.expr = Expression(0);
    syntax_.lines.push_back(std::move(line));
  }

  void Define(const std::string& name, FeaturePlace place, std::set<std::string>& names) {
    if (names.insert(name).second) return;
    FailAt(*source_, place, fmt::format("the name '{}' is given twice", name));
  }

  Expr Expression(size_t level) {
    if (level == kOperators.size()) return Unary();
    if (level == 2 && IsWord("not")) {
      Expr expr = Make(Expr::Kind::kCall, "not");
      ++at_;
      expr.args.push_back(Nested([&] { return Expression(level); }));
      return expr;
    }
    Expr left = Expression(level + 1);
    for (int repeats = 0;; ++repeats) {
      const auto& signs = kOperators[level];
      const auto found = std::ranges::find_if(
          signs, [&](std::string_view sign) { return IsSign(sign) || IsWord(sign); });
      if (found == signs.end()) return left;
      if (repeats == kMaxDepth) FailAt(*source_, Peek().place, "this expression is too long");
      Expr call = Make(Expr::Kind::kCall, std::string(*found));
      ++at_;
      call.args.push_back(std::move(left));
      call.args.push_back(Expression(level + 1));
      left = std::move(call);
    }
  }

  Expr Unary() {
    if (!IsSign("-")) return Primary();
    Expr expr = Make(Expr::Kind::kCall, "-");
    ++at_;
    Expr inner = Nested([&] { return Unary(); });
    if (inner.kind == Expr::Kind::kNumber) {
      inner.number = -inner.number;
      return inner;
    }
    expr.args.push_back(std::move(inner));
    return expr;
  }

  Expr Primary() {
    const Token& token = Peek();
    if (token.kind == Kind::kNumber) {
      Expr expr = Make(Expr::Kind::kNumber, "");
      expr.number = token.number;
      ++at_;
      return expr;
    }
    if (token.kind == Kind::kText) {
      Expr expr = Make(Expr::Kind::kText, token.text);
      ++at_;
      return expr;
    }
    if (IsSign("(")) {
      ++at_;
      Expr expr = Nested([&] { return Expression(0); });
      Need(")");
      return expr;
    }
    if (IsSign("[")) {
      Expr expr = Make(Expr::Kind::kList, "");
      ++at_;
      while (!Take("]")) {
        expr.args.push_back(Nested([&] { return Expression(0); }));
        if (!IsSign("]")) Need(",");
      }
      return expr;
    }
    if (token.kind == Kind::kName) return Named();
    Wanted("a value");
  }

  Expr Named() {
    Expr expr = Make(Expr::Kind::kName, Peek().text);
    const bool quoted = Peek().quoted;
    ++at_;
    if (!quoted && Take("(")) {
      expr.kind = Expr::Kind::kCall;
      Arguments(expr);
    } else if (Take("[")) {
      expr.kind = Expr::Kind::kIndex;
      do expr.args.push_back(Nested([&] { return Expression(0); }));
      while (Take(","));
      Need("]");
      Need(".");
      expr.first = Name("the name of a column of the file");
      if (Take("..")) expr.last = Name("the last name of the range");
    } else if (IsSign("..")) {
      ++at_;
      expr.kind = Expr::Kind::kRange;
      expr.first = expr.text;
      expr.last = Name("the last name of the range");
      if (ExpandRange(expr.first, expr.last).empty()) FailRange(expr.place, expr.first, expr.last);
    }
    return expr;
  }

  // Up to and with the closing bracket.
  void Arguments(Expr& call) {
    while (!Take(")")) {
      if (Peek().kind == Kind::kName && IsSign("=", 1)) {
        call.settings.push_back(Setting());
      } else {
        Expr value = Nested([&] { return Expression(0); });
        if (IsWord("for")) value = For(std::move(value));
        call.args.push_back(std::move(value));
      }
      if (!IsSign(")")) Need(",");
    }
    CheckTwice(call.settings);
  }

  Expr For(Expr body) {
    Expr expr = Make(Expr::Kind::kFor, "");
    ++at_;
    expr.text = Name("the name of the variable");
    if (!IsWord("in")) Wanted("'in'");
    ++at_;
    Expr over = Nested([&] { return Primary(); });
    if (over.kind != Expr::Kind::kList && over.kind != Expr::Kind::kRange &&
        (over.kind != Expr::Kind::kIndex || over.last.empty())) {
      FailAt(*source_, over.place, "wanted a list as [a, b] or a range as C1..C26");
    }
    expr.args.push_back(std::move(body));
    expr.args.push_back(std::move(over));
    return expr;
  }

  std::vector<FeatureSetting> Settings() {
    std::vector<FeatureSetting> settings;
    while (!Take(")")) {
      settings.push_back(Setting());
      if (!IsSign(")")) Need(",");
    }
    CheckTwice(settings);
    return settings;
  }

  FeatureSetting Setting() {
    FeatureSetting setting;
    setting.place = Peek().place;
    setting.name = Name("a setting as name=value");
    Need("=");
    setting.value = Nested([&] { return Unary(); });
    const auto plain = [](const Expr& e) {
      return e.kind == Expr::Kind::kNumber || e.kind == Expr::Kind::kText ||
             e.kind == Expr::Kind::kName;
    };
    const bool list =
        setting.value.kind == Expr::Kind::kList && std::ranges::all_of(setting.value.args, plain);
    if (!list && !plain(setting.value)) {
      FailAt(*source_, setting.value.place,
             fmt::format("the setting '{}' wants a number, a text, a name or a list of those",
                         setting.name));
    }
    return setting;
  }

  void CheckTwice(const std::vector<FeatureSetting>& settings) {
    std::set<std::string_view> seen;
    for (const FeatureSetting& setting : settings) {
      if (!seen.insert(setting.name).second) {
        FailAt(*source_, setting.place, fmt::format("'{}' is set twice", setting.name));
      }
    }
  }

  template <class F>
  Expr Nested(F parse) {
    if (++depth_ > kMaxDepth) FailAt(*source_, Peek().place, "this is nested too deeply");
    Expr expr = parse();
    --depth_;
    return expr;
  }

  Expr Make(Expr::Kind kind, std::string text) const {
    Expr expr;
    expr.kind = kind;
    expr.text = std::move(text);
    expr.place = Peek().place;
    return expr;
  }

  [[noreturn]] void FailRange(FeaturePlace place, const std::string& first,
                              const std::string& last) {
    FailAt(*source_, place,
           fmt::format("{}..{}: the names of a range are equal up to a number at their end, which "
                       "rises, as in C1..C26",
                       first, last));
  }

  const std::shared_ptr<const FeatureSource> source_;
  const std::vector<Token> tokens_;
  FeatureSyntax syntax_;
  std::set<std::string> outputs_, names_, inputs_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

FeatureSyntax ParseFeatures(std::string_view text, const std::string& path) {
  if (text.size() > kMaxBytes)
    Fail(ErrorCode::kInvalidProgram, "{}: {} bytes are too many for this file", path, text.size());
  return Parser(std::make_shared<FeatureSource>(FeatureSource{path, std::string(text)})).Run();
}

}  // namespace catamaran

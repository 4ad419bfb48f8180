#include "catamaran/data/features/feature_binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/suggest.h"

namespace catamaran {
namespace {

using Expr = FeatureExpr;
using Kind = FeatureExpr::Kind;

constexpr int kMaxExpressions = 1'000'000;

ValueType TypeOf(const Column& column) {
  switch (column.kind) {
    case ColumnKind::kDense:
      return {column.dtype == DType::kI64 ? ValueKind::kInteger : ValueKind::kNumber, column.shape};
    case ColumnKind::kIds:
      return {ValueKind::kIds, {}};
    case ColumnKind::kWeightedIds:
      return {ValueKind::kWeightedIds, {}};
    case ColumnKind::kString:
      break;
  }
  return {ValueKind::kText, {}};
}

FeatureKernel ConstantKernel(double number) {
  return {{ValueKind::kNumber, {}}, [number](const FeatureArgs& args, FeatureValues& out) {
            const auto rows = static_cast<size_t>(args.rows);
            std::fill_n(out.numbers.Extend(rows), rows, number);
          }};
}

FeatureKernel ConstantKernel(const std::string& text) {
  return {{ValueKind::kText, {}}, [text](const FeatureArgs& args, FeatureValues& out) {
            const auto rows = static_cast<size_t>(args.rows);
            std::fill_n(out.texts.Extend(rows), rows, std::string_view(text));
          }};
}

// What all rows of data without that column have in it.
FeatureKernel DefaultKernel(const ColumnDefault& given, const Column& column) {
  const ValueType type = TypeOf(column);
  return {type, [type, given](const FeatureArgs& args, FeatureValues& out) {
            const auto rows = static_cast<size_t>(args.rows);
            const auto values = rows * static_cast<size_t>(type.is_list() ? 0 : type.elements());
            if (type.kind == ValueKind::kNumber) {
              const double missing = std::numeric_limits<double>::quiet_NaN();
              std::fill_n(out.numbers.Extend(values), values, given.number.value_or(missing));
            } else if (type.kind == ValueKind::kText) {
              const std::string_view text = given.text ? std::string_view(*given.text) : "";
              std::fill_n(out.texts.Extend(values), values, text);
            } else if (type.kind == ValueKind::kInteger) {
              const auto number = static_cast<int64_t>(given.number.value_or(0));
              std::fill_n(out.ints.Extend(values), values, number);
            } else {
              std::fill_n(out.offsets.Extend(rows), rows, 0);
            }
          }};
}

FeatureKernel WidenKernel(const Shape& shape) {
  return {{ValueKind::kNumber, shape}, [](const FeatureArgs& args, FeatureValues& out) {
            const auto& ints = args[0].ints;
            double* to = out.numbers.Extend(ints.size());
            for (size_t i = 0; i < ints.size(); ++i) to[i] = static_cast<double>(ints[i]);
          }};
}

class Binder {
 public:
  Binder(const Features& features, const Schema& columns, Unfitted unfitted)
      : features_(features),
        syntax_(features.syntax()),
        source_(*syntax_.source),
        columns_(columns),
        unfitted_(unfitted) {
    for (size_t i = 0; i < syntax_.lines.size(); ++i) {
      if (!syntax_.lines[i].output) lets_[syntax_.lines[i].name] = i;
    }
  }

  std::shared_ptr<FeatureGraph> Run(const std::vector<std::string>& wanted) {
    std::vector<std::string_view> names;
    for (const FeatureLine& line : syntax_.lines) {
      if (line.output) names.push_back(line.name);
    }
    for (const std::string& name : wanted) {
      if (std::ranges::count(names, name) > 0) continue;
      Fail("{}: there is no output '{}'{}", source_.path, name, DidYouMean(name, names));
    }
    for (line_ = 0; line_ < syntax_.lines.size(); ++line_) {
      const FeatureLine& line = syntax_.lines[line_];
      // Lines that no output uses are checked too, unless some outputs are chosen.
      if (wanted.empty() ? false : !line.output || std::ranges::count(wanted, line.name) == 0) {
        continue;
      }
      const int node = Bind(line.expr);
      if (!line.output) continue;
      if (At(node).type.kind == ValueKind::kTexts && At(node).ready) {
        FailAt(source_, line.place,
               fmt::format("'{}' is a list of texts, which no column holds; hash or vocabulary "
                           "makes ids of it",
                           line.name));
      }
      outputs_.push_back({line.name, node});
    }
    if (outputs_.empty()) Fail(ErrorCode::kInvalidProgram, "{}: there is no output", source_.path);
    const uint64_t hash = Hash();
    return std::make_shared<FeatureGraph>(std::move(nodes_), outputs_, hash, source_.path,
                                          std::make_shared<Features>(features_));
  }

 private:
  FeatureNode& At(int node) { return nodes_[static_cast<size_t>(node)]; }

  static std::string DidYouMean(std::string_view name, std::span<const std::string_view> names) {
    const std::string near = Suggest(name, names);
    return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  }

  // A node that is there already if one has the same key.
  int Add(FeatureNode node, const std::string& key) {
    node.place = fmt::format("{}:{}: '{}'", source_.path, syntax_.lines[line_].place.line,
                             syntax_.lines[line_].name);
    for (const int arg : node.args) At(arg).used = true;
    nodes_.push_back(std::move(node));
    keys_.push_back(key);
    return by_key_[key] = static_cast<int>(nodes_.size()) - 1;
  }

  int Bind(const Expr& expr) {
    if (++bound_ > kMaxExpressions) FailAt(source_, expr.place, "there are too many expressions");
    switch (expr.kind) {
      case Kind::kNumber:
      case Kind::kText:
        return Constant(expr);
      case Kind::kName:
        return Name(expr);
      case Kind::kCall:
        return Call(expr);
      case Kind::kIndex:
        if (expr.last.empty()) return Index(expr)[0];
        break;
      default:
        break;
    }
    FailAt(source_, expr.place,
           fmt::format("{} gives several values, and one is wanted here", ToString(expr)));
  }

  int Constant(const Expr& expr) {
    const std::string text = ToString(expr);
    const auto found = by_key_.find(text);
    if (found != by_key_.end()) return found->second;
    FeatureNode node;
    node.kernel =
        expr.kind == Kind::kNumber ? ConstantKernel(expr.number) : ConstantKernel(expr.text);
    node.type = node.kernel.type;
    node.text = text;
    return Add(std::move(node), text);
  }

  int Name(const Expr& expr) {
    for (auto variable = variables_.rbegin(); variable != variables_.rend(); ++variable) {
      if (*variable->first == expr.text) return variable->second;
    }
    if (const auto let = lets_.find(expr.text); let != lets_.end()) return Let(expr, let->second);
    if (features_.files().contains(expr.text)) {
      FailAt(source_, expr.place,
             fmt::format("{0} is a file; {0}[key].column is a value of it", expr.text));
    }
    return ColumnNode(expr.text, expr.place);
  }

  int Let(const Expr& expr, size_t line) {
    if (line >= line_) {
      FailAt(source_, expr.place, fmt::format("'{}' is defined below", expr.text));
    }
    const auto found = let_nodes_.find(line);
    if (found != let_nodes_.end()) return found->second;
    const size_t here = std::exchange(line_, line);
    const auto variables = std::exchange(variables_, {});
    const int node = Bind(syntax_.lines[line].expr);
    line_ = here;
    variables_ = variables;
    let_nodes_[line] = node;
    return node;
  }

  int ColumnNode(const std::string& name, FeaturePlace place) {
    const std::string key = "column " + name;
    if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
    const int column = columns_.Find(name);
    if (const ColumnDefault* const given = column < 0 ? DefaultOf(name) : nullptr) {
      FeatureNode node;
      node.kernel = DefaultKernel(*given, InputNamed(name));
      node.type = node.kernel.type;
      node.text = NameText(name);
      node.field = name;
      return Add(std::move(node), key);
    }
    if (column < 0) {
      std::vector<std::string_view> names;
      for (const Column& each : columns_) names.push_back(each.name);
      for (const auto& let : lets_) names.push_back(let.first);
      const bool output = std::ranges::any_of(
          syntax_.lines, [&](const FeatureLine& line) { return line.output && line.name == name; });
      FailAt(source_, place,
             fmt::format("the data has no column '{}'{}", name,
                         output ? fmt::format("; to use the output '{0}' in other lines, give its "
                                              "value a name of its own by `let`",
                                              name)
                                : DidYouMean(name, names)));
    }
    FeatureNode node;
    node.column = name;
    node.input = columns_[column];
    node.type = TypeOf(columns_[column]);
    node.text = NameText(name);
    node.field = name;
    return Add(std::move(node), key);
  }

  const ColumnDefault* DefaultOf(const std::string& name) const {
    const auto found = std::ranges::find(syntax_.defaults, name, &ColumnDefault::column);
    return found == syntax_.defaults.end() ? nullptr : &*found;
  }

  const Column& InputNamed(const std::string& name) const {
    return *std::ranges::find(syntax_.inputs, name, &Column::name);
  }

  // The values of an argument: one, or several of a `for` or a range.
  void Spread(const Expr& expr, std::vector<int>& nodes) {
    if (expr.kind == Kind::kRange) {
      for (const std::string& name : ExpandRange(expr.first, expr.last)) {
        nodes.push_back(ColumnNode(name, expr.place));
      }
    } else if (expr.kind == Kind::kIndex && !expr.last.empty()) {
      for (const int node : Index(expr)) nodes.push_back(node);
    } else if (expr.kind == Kind::kFor) {
      std::vector<int> over;
      if (expr.args[1].kind == Kind::kList) {
        for (const Expr& item : expr.args[1].args) Spread(item, over);
      } else {
        Spread(expr.args[1], over);
      }
      for (const int each : over) {
        variables_.push_back({&expr.text, each});
        Spread(expr.args[0], nodes);
        variables_.pop_back();
      }
    } else {
      nodes.push_back(Bind(expr));
    }
  }

  // name[keys].column: the number of the row, then its columns.
  std::vector<int> Index(const Expr& expr) {
    const auto found = features_.files().find(expr.text);
    if (found == features_.files().end()) {
      std::vector<std::string_view> names;
      for (const auto& file : features_.files()) names.push_back(file.first);
      FailAt(
          source_, expr.place,
          fmt::format("there is no line `file {}(…)`{}", expr.text, DidYouMean(expr.text, names)));
    }
    const SideFile& file = *found->second;
    FeatureNode row;
    std::vector<ValueType> types;
    for (const Expr& arg : expr.args) Spread(arg, row.args);
    for (const int arg : row.args) {
      types.push_back(At(arg).type);
      row.ready = row.ready && At(arg).ready;
      row.text += (row.text.empty() ? "" : ", ") + At(arg).text;
      if (At(arg).ready && !types.back().is_single()) {
        FailAt(source_, expr.place,
               fmt::format("a key of {} is {}, wanted a single value", expr.text,
                           types.back().ToString()));
      }
    }
    if (types.size() != file.keys().size()) {
      FailAt(source_, expr.place,
             fmt::format("{} has {} key columns, found {}", expr.text, file.keys().size(),
                         types.size()));
    }
    row.text = fmt::format("{}[{}]", NameText(expr.text), row.text);
    int row_node = 0;
    if (const auto same = by_key_.find(row.text); same != by_key_.end()) {
      row_node = same->second;
    } else {
      row.kernel = file.RowKernel(types);
      row.type = row.kernel.type;
      const std::string key = row.text;
      row_node = Add(std::move(row), key);
    }
    const int first = FileColumn(file, expr.first, expr);
    const int last = expr.last.empty() ? first : FileColumn(file, expr.last, expr);
    std::vector<int> nodes;
    for (int column = first; column <= last; ++column) {
      nodes.push_back(FileColumnNode(file, column, row_node, expr.text));
    }
    if (nodes.empty()) {
      FailAt(source_, expr.place,
             fmt::format("in the file {} stands before {}", expr.last, expr.first));
    }
    return nodes;
  }

  int FileColumn(const SideFile& file, const std::string& name, const Expr& expr) const {
    const int column = file.schema().Find(name);
    if (column >= 0) return column;
    std::vector<std::string_view> names;
    for (const Column& each : file.schema()) names.push_back(each.name);
    FailAt(
        source_, expr.place,
        fmt::format("the file {} has no column '{}'{}", expr.text, name, DidYouMean(name, names)));
  }

  int FileColumnNode(const SideFile& file, int column, int row, const std::string& name) {
    FeatureNode node;
    node.text = At(row).text + "." + NameText(file.schema()[column].name);
    if (const auto same = by_key_.find(node.text); same != by_key_.end()) return same->second;
    node.args = {row};
    node.ready = At(row).ready;
    node.kernel = file.ColumnKernel(column);
    node.type = node.kernel.type;
    node.field = name + "." + file.schema()[column].name;
    const std::string key = node.text;
    return Add(std::move(node), key);
  }

  static std::string CallText(const Expr& expr, const std::vector<std::string>& args) {
    std::vector<std::string> parts = args;
    for (const Expr& arg : expr.args) {
      if (arg.kind == Kind::kList) parts.push_back(ToString(arg));
    }
    std::vector<std::string> settings;
    for (const FeatureSetting& setting : expr.settings) {
      settings.push_back(setting.name + "=" + ToString(setting.value));
    }
    std::ranges::sort(settings);
    parts.insert(parts.end(), settings.begin(), settings.end());
    const bool sign = !expr.text.empty() && !(expr.text[0] >= 'a' && expr.text[0] <= 'z') &&
                      !(expr.text[0] >= 'A' && expr.text[0] <= 'Z') && expr.text[0] != '_';
    if ((sign || expr.text == "in" || expr.text == "and" || expr.text == "or") &&
        parts.size() == 2) {
      return fmt::format("({} {} {})", parts[0], expr.text, parts[1]);
    }
    return fmt::format("{}({})", expr.text, fmt::join(parts, ", "));
  }

  int Call(const Expr& expr) {
    const FeatureFunction* function = features_.functions().Find(expr.text);
    if (function == nullptr) {
      std::vector<std::string_view> names;
      for (const auto& each : features_.functions().all()) names.push_back(each.first);
      FailAt(source_, expr.place,
             fmt::format("there is no function '{}'{}", expr.text, DidYouMean(expr.text, names)));
    }
    FeatureNode node;
    for (const Expr& arg : expr.args) {
      if (arg.kind != Kind::kList) Spread(arg, node.args);
    }
    std::vector<FeatureCall::Argument> arguments;
    std::vector<std::string> texts, fields;
    for (const int arg : node.args) {
      const FeatureNode& value = At(arg);
      arguments.push_back({value.type, value.field});
      texts.push_back(value.text);
      node.ready = node.ready && value.ready;
      if (!value.field.empty() && std::ranges::count(fields, value.field) == 0) {
        fields.push_back(value.field);
      }
    }
    node.text = CallText(expr, texts);
    // What is made of columns is a field of its own, by its expression; what only changes the kind
    // of a column is that column.
    const bool same_field = expr.text == "number" || expr.text == "integer" || expr.text == "text";
    if (!fields.empty()) node.field = same_field && fields.size() == 1 ? fields[0] : node.text;
    // Without columns, what it gives may depend on the line's name.
    const std::string key =
        fields.empty() ? node.text + " of " + syntax_.lines[line_].name : node.text;
    if (const auto same = by_key_.find(key); same != by_key_.end()) return same->second;

    const bool args_ready = node.ready;
    const FittedValue* fitted = nullptr;
    if (function->fit) {
      const auto found = features_.fitted().find(node.text);
      if (found != features_.fitted().end()) {
        fitted = &found->second;
        fitted_.push_back(node.text);
      } else if (unfitted_ == Unfitted::kRefuse) {
        FailAt(source_, expr.place,
               fmt::format("{} learns from data, and is not fitted yet: run `catamaran features "
                           "fit {} --data …`",
                           expr.text, source_.path));
      } else {
        node.ready = false;
      }
    }
    if (args_ready) {
      FeatureCall call(source_, expr, syntax_.lines[line_].name, std::move(arguments), fitted);
      try {
        if (node.ready) {
          node.kernel = function->bind(call);
          node.type = node.kernel.type;
        } else {
          node.fitter = function->fit(call);
        }
      } catch (const std::bad_function_call&) {
        FailAt(source_, expr.place, fmt::format("{} does not say how it is computed", expr.text));
      }
      call.CheckSettings();
      for (size_t i = 0; i < node.args.size(); ++i) {
        if (call.converted(i)) node.args[i] = Widened(node.args[i]);
      }
    }
    return Add(std::move(node), key);
  }

  int Widened(int arg) {
    const std::string key = "number of " + At(arg).text + " " + std::to_string(arg);
    if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
    FeatureNode node;
    node.args = {arg};
    node.kernel = WidenKernel(At(arg).type.shape);
    node.type = node.kernel.type;
    node.text = At(arg).text;
    node.field = At(arg).field;
    return Add(std::move(node), key);
  }

  uint64_t Hash() {
    uint64_t hash = 1;
    const auto add = [&](uint64_t value) { hash = HashCombine(hash, value); };
    for (const FeatureOutput& output : outputs_) {
      add(HashString(output.name));
      add(HashString(keys_[static_cast<size_t>(output.node)]));
      add(HashString(At(output.node).type.ToString()));
    }
    std::ranges::sort(fitted_);
    for (const std::string& text : fitted_) {
      const FittedValue& value = features_.fitted().find(text)->second;
      add(HashString(text));
      for (const double number : value.numbers) add(std::bit_cast<uint64_t>(number));
      for (const std::string& word : value.texts) add(HashString(word));
    }
    for (const auto& [name, file] : features_.files()) {
      add(HashString(name));
      add(file->hash());
    }
    return hash;
  }

  const Features& features_;
  const FeatureSyntax& syntax_;
  const FeatureSource& source_;
  const Schema& columns_;
  const Unfitted unfitted_;
  std::map<std::string, size_t> lets_;
  std::map<size_t, int> let_nodes_;
  std::vector<std::pair<const std::string*, int>> variables_;  // of `for`, the innermost last
  std::vector<FeatureNode> nodes_;
  std::vector<std::string> keys_;
  std::map<std::string, int> by_key_;
  std::vector<FeatureOutput> outputs_;
  std::vector<std::string> fitted_;  // that are used
  size_t line_ = 0;
  int bound_ = 0;
};

}  // namespace

std::shared_ptr<FeatureGraph> BindFeatures(const Features& features, const Schema& columns,
                                           const std::vector<std::string>& outputs,
                                           Unfitted unfitted) {
  return Binder(features, columns, unfitted).Run(outputs);
}

}  // namespace catamaran

// Which columns feed which arguments: found once, with all mistakes in one error.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/suggest.h"
#include "catamaran/ir/diagnostic.h"
#include "catamaran/train/feed.h"
#include "catamaran/train/number_conversion.h"

namespace catamaran {
namespace {

constexpr std::string_view kWeights = "_weights";
constexpr std::string_view kWeight = "weight";
constexpr int kMaxListed = 40;

Location LocationOf(const Function& f, int i) {
  const auto index = static_cast<size_t>(i);
  return index < f.arg_locations.size() ? f.arg_locations[index] : f.at;
}

// "user: ids, age: f32, …"
std::string ColumnList(const Schema& schema) {
  std::string list;
  for (int c = 0; c < std::min(schema.size(), kMaxListed); ++c) {
    list += fmt::format("{}{}: {}", c == 0 ? "" : ", ", schema[c].name, schema[c].KindText());
  }
  if (schema.size() > kMaxListed) list += fmt::format(", … ({} in all)", schema.size());
  return list.empty() ? "none" : list;
}

std::string SuggestColumn(const std::string& name, const Schema& schema) {
  std::vector<std::string_view> names;
  for (const Column& column : schema) names.push_back(column.name);
  return Suggest(name, names);
}

// The elements of one row that the type asks for, or -1 where its names decide.
int64_t RowElements(const Type& type) {
  int64_t count = 1;
  for (int axis = 1; axis < type.rank(); ++axis) {
    if (!type.dim(axis).is_constant()) return -1;
    count *= type.dim(axis).constant();
  }
  return count;
}

// Finds what one argument takes; says in `diagnostics` why it cannot.
class Binder {
 public:
  Binder(const Schema& schema, const FeedOptions& options, Diagnostics& diagnostics)
      : schema_(schema), options_(options), diagnostics_(diagnostics) {}

  void Bind(BoundArgument& argument) {
    if (options_.given.contains(argument.name)) {
      argument.given = true;
      return;
    }
    if (!CheckType(argument)) return;
    const auto named = options_.bind.find(argument.name);
    if (named == options_.bind.end()) {
      BindByName(argument);
    } else {
      for (const std::string& column : named->second) {
        if (!AddPart(argument, column)) return;
      }
    }
    if (!argument.parts.empty()) CheckParts(argument);
  }

 private:
  Diagnostic& Complain(const BoundArgument& argument, std::string message) {
    return diagnostics_.Add(argument.at,
                            fmt::format("argument {}: {}", argument.ArgumentText(), message),
                            static_cast<uint32_t>(argument.name.size()));
  }

  bool CheckType(const BoundArgument& argument) {
    const Type& type = argument.type;
    if (!type.is_tensor() || type.rank() == 0 || type.dim(0).is_constant()) {
      Complain(argument,
               "no column can feed it: its first dimension must be that of the rows, as B");
      return false;
    }
    if (type.is_ragged() && type.rank() != 2) {
      Complain(argument, "no column can feed it: a row's list has numbers, not tensors");
      return false;
    }
    return true;
  }

  void BindByName(BoundArgument& argument) {
    const std::string& name = argument.name;
    if (schema_.Find(name) >= 0) {
      AddPart(argument, name);
      return;
    }
    if (name.ends_with(kWeights)) {
      const std::string ids = name.substr(0, name.size() - kWeights.size());
      const int column = schema_.Find(ids);
      if (column >= 0 && schema_[column].kind == ColumnKind::kWeightedIds) {
        argument.parts.push_back({column, true});
        argument.columns.push_back(ids);
        return;
      }
    }
    if (name == kWeight && argument.type.rank() == 1) {
      argument.ones = true;
      return;
    }
    AddPart(argument, name);
  }

  bool AddPart(BoundArgument& argument, const std::string& name) {
    const int column = schema_.Find(name);
    if (column < 0) {
      const std::string near = SuggestColumn(name, schema_);
      Diagnostic& d = Complain(
          argument, fmt::format("{} has no column {}{}", options_.data, name,
                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
      d.notes.push_back({"columns", ColumnList(schema_)});
      return false;
    }
    argument.parts.push_back({column, false});
    argument.columns.push_back(name);
    return true;
  }

  // Dtypes; widths, as far as they are known before the rows.
  void CheckParts(const BoundArgument& argument) {
    const Type& type = argument.type;
    int64_t width = 0;
    bool lists = false;
    for (const BoundArgument::Part& part : argument.parts) {
      const Column& column = schema_[part.column];
      const DType dtype = part.weights ? DType::kF32 : column.dtype;
      if (!CanConvert(dtype, type.dtype())) {
        ComplainOfKind(argument, column, fmt::format("{} is never fed", Name(type.dtype())));
        return;
      }
      if (column.has_offsets()) {
        lists = true;
      } else {
        if (type.is_ragged() && column.shape.rank() > 1) {
          ComplainOfKind(argument, column, "its rows are no lists");
          return;
        }
        width += column.width();
      }
    }
    if (type.is_ragged()) return;
    const int64_t wanted = RowElements(type);
    const Column& first = schema_[argument.parts[0].column];
    if (lists) {
      if (type.rank() > 2 && wanted < 0) ComplainOfKind(argument, first, "its shape is not known");
      return;
    }
    if (wanted >= 0) {
      if (wanted != width) {
        ComplainOfKind(argument, first,
                       fmt::format("it has {} numbers a row; wanted {}", width, wanted));
      }
      return;
    }
    CheckNamedShape(argument, first);
  }

  // f32[B, T, 4]: the column has as many axes, and those that are numbers are equal.
  void CheckNamedShape(const BoundArgument& argument, const Column& column) {
    const Type& type = argument.type;
    if (argument.parts.size() > 1) {
      if (type.rank() != 2) ComplainOfKind(argument, column, "several columns make one axis");
      return;
    }
    bool fits = column.shape.rank() + 1 == type.rank();
    for (int axis = 1; fits && axis < type.rank(); ++axis) {
      const Dim& dim = type.dim(axis);
      fits = !dim.is_constant() || dim.constant() == column.shape[axis - 1];
    }
    if (!fits) ComplainOfKind(argument, column, "their shapes differ");
  }

  void ComplainOfKind(const BoundArgument& argument, const Column& column, std::string why) {
    Diagnostic& d = Complain(argument, fmt::format("column{} {} cannot feed it: {}",
                                                   argument.parts.size() > 1 ? "s" : "",
                                                   fmt::join(argument.columns, ", "), why));
    d.notes.push_back(
        {column.name, fmt::format("{}, a column of {}", column.KindText(), options_.data)});
  }

  const Schema& schema_;
  const FeedOptions& options_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::string BoundArgument::ArgumentText() const {
  return fmt::format("{} : {}", name, type.ToString());
}

std::string BoundArgument::SourceText(const Schema& schema) const {
  if (given) return "fed by the program";
  if (ones) return "1 (there is no such column)";
  std::string text = parts.size() > 1 ? "columns" : "column";
  for (size_t i = 0; i < parts.size(); ++i) {
    const Column& column = schema[parts[i].column];
    text += fmt::format("{} {} ({})", i == 0 ? "" : ",", column.name,
                        parts[i].weights ? "its weights" : column.KindText());
  }
  return text;
}

FeedBinding::FeedBinding(const Program& flat, const Function& function, const Schema& schema,
                         FeedOptions options)
    : function_(function.name), schema_(schema), sources_(flat.sources_ptr()) {
  for (int i = 0; i < function.num_params(); ++i) {
    BoundArgument argument;
    argument.name = function.param(i)->name;
    argument.type = function.param(i)->type;
    argument.at = LocationOf(function, i);
    arguments_.push_back(std::move(argument));
  }
  Diagnostics diagnostics;
  Binder binder(schema_, options, diagnostics);
  for (BoundArgument& argument : arguments_) binder.Bind(argument);
  diagnostics.ThrowIfAny(*sources_);
}

std::vector<std::string> FeedBinding::Columns() const {
  std::vector<bool> used(static_cast<size_t>(schema_.size()));
  for (const BoundArgument& argument : arguments_) {
    for (const BoundArgument::Part& part : argument.parts) {
      used[static_cast<size_t>(part.column)] = true;
    }
  }
  std::vector<std::string> columns;
  for (int c = 0; c < schema_.size(); ++c) {
    if (used[static_cast<size_t>(c)]) columns.push_back(schema_[c].name);
  }
  return columns;
}

std::string FeedBinding::Describe(const BoundArgument& argument) const {
  return fmt::format("{}: argument {}, declared at {}", function_, argument.ArgumentText(),
                     sources_->ToString(argument.at));
}

}  // namespace catamaran

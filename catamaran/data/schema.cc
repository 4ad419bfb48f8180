#include "catamaran/data/schema.h"

#include <algorithm>
#include <charconv>
#include <ostream>
#include <unordered_map>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/suggest.h"

namespace catamaran {

struct Schema::Columns {
  std::vector<Column> list;
  std::unordered_map<std::string_view, int> by_name;  // views of the names in `list`
  uint64_t hash = 0;
};

namespace {

constexpr DType kDenseTypes[] = {DType::kF32, DType::kI64, DType::kU8};

bool IsDenseType(DType dtype) { return std::ranges::count(kDenseTypes, dtype) > 0; }

void CheckName(const std::string& name) {
  if (name.empty()) Fail("schema: a column has no name");
  if (name.size() > Schema::kMaxNameBytes) {
    Fail("schema: a column's name has {} bytes, the most is {}", name.size(),
         Schema::kMaxNameBytes);
  }
  const auto control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  };
  if (std::ranges::any_of(name, control) || name.front() == ' ' || name.back() == ' ') {
    Fail("schema: the column name '{}' has control characters, or spaces at its ends", name);
  }
}

void CheckColumn(const Column& column) {
  CheckName(column.name);
  const auto fail = [&](std::string_view what) {
    Fail("schema: column '{}': {}", column.name, what);
  };
  switch (column.kind) {
    case ColumnKind::kDense:
      if (!IsDenseType(column.dtype)) fail("its numbers must be f32, i64 or u8");
      if (column.width() < 1 || column.width() > Schema::kMaxWidth) {
        fail(fmt::format("a row of shape {} has {} elements; wanted 1 to {}",
                         column.shape.ToString(), column.width(), Schema::kMaxWidth));
      }
      return;
    case ColumnKind::kIds:
    case ColumnKind::kWeightedIds:
      if (column.dtype != DType::kI64 || column.shape.rank() > 0)
        fail("ids are i64, without shape");
      return;
    case ColumnKind::kString:
      if (column.dtype != DType::kU8 || column.shape.rank() > 0) {
        fail("strings are u8, without shape");
      }
      return;
  }
  fail(fmt::format("{} is no kind of column", static_cast<int>(column.kind)));
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// What is between the brackets of a shape. False if that is not a list of dimensions.
bool ParseDims(std::string_view text, Shape& shape) {
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = Trim(text.substr(0, comma));
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), dim);
    if (error != std::errc() || end != word.data() + word.size() || dim < 0 ||
        shape.rank() == kMaxRank) {
      return false;
    }
    shape.Append(dim);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

// False if `kind` is none.
bool ParseKind(std::string_view kind, Column& column) {
  if (kind == "ids") {
    column = Column::Ids(std::move(column.name));
  } else if (kind == "weighted_ids") {
    column = Column::WeightedIds(std::move(column.name));
  } else if (kind == "string") {
    column = Column::String(std::move(column.name));
  } else {
    const size_t bracket = std::min(kind.find('['), kind.size());
    const auto dtype = ParseDType(Trim(kind.substr(0, bracket)));
    if (!dtype || !IsDenseType(*dtype)) return false;
    Shape shape;
    if (bracket < kind.size()) {
      if (kind.back() != ']') return false;
      const std::string_view dims = kind.substr(bracket + 1, kind.size() - bracket - 2);
      if (!ParseDims(dims, shape)) return false;
    }
    column = Column::Dense(std::move(column.name), *dtype, shape);
  }
  return true;
}

}  // namespace

Column Column::Dense(std::string name, DType dtype, Shape shape) {
  return {std::move(name), ColumnKind::kDense, dtype, shape};
}
Column Column::Ids(std::string name) {
  return {std::move(name), ColumnKind::kIds, DType::kI64, {}};
}
Column Column::WeightedIds(std::string name) {
  return {std::move(name), ColumnKind::kWeightedIds, DType::kI64, {}};
}
Column Column::String(std::string name) {
  return {std::move(name), ColumnKind::kString, DType::kU8, {}};
}

std::string Column::KindText() const {
  switch (kind) {
    case ColumnKind::kDense:
      return std::string(Name(dtype)) + (shape.rank() > 0 ? shape.ToString() : "");
    case ColumnKind::kIds:
      return "ids";
    case ColumnKind::kWeightedIds:
      return "weighted_ids";
    case ColumnKind::kString:
      return "string";
  }
  return "?";
}

Schema::Schema() : Schema(std::vector<Column>{}) {}

Schema::Schema(std::vector<Column> columns) {
  if (columns.size() > kMaxColumns) {
    Fail("schema: {} columns; the most is {}", columns.size(), kMaxColumns);
  }
  auto made = std::make_shared<Columns>();
  made->list = std::move(columns);
  for (size_t i = 0; i < made->list.size(); ++i) {
    const Column& column = made->list[i];
    CheckColumn(column);
    if (!made->by_name.try_emplace(column.name, static_cast<int>(i)).second) {
      Fail("schema: two columns are named '{}'", column.name);
    }
  }
  columns_ = made;
  made->hash = HashString(ToString());
}

Schema Schema::Parse(std::string_view text, std::string_view what) {
  std::vector<Column> columns;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    // The last colon: names may have some, kinds have none.
    const size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) {
      Fail("{}:{}: wanted 'name: kind', found '{}'", what, number, line);
    }
    Column column;
    column.name = Trim(line.substr(0, colon));
    const std::string_view kind = Trim(line.substr(colon + 1));
    if (!ParseKind(kind, column)) {
      Fail(
          "{}:{}: column '{}': '{}' is no kind of column; wanted f32, i64 or u8 with or without a "
          "shape as in f32[2, 3], ids, weighted_ids or string",
          what, number, column.name, kind);
    }
    try {
      CheckColumn(column);
    } catch (const Error& error) {
      Fail(error.code(), "{}:{}: {}", what, number, error.what());
    }
    columns.push_back(std::move(column));
  }
  try {
    return Schema(std::move(columns));
  } catch (const Error& error) {
    Fail(error.code(), "{}: {}", what, error.what());
  }
}

const std::vector<Column>& Schema::columns() const { return columns_->list; }

int Schema::Find(std::string_view name) const {
  const auto found = columns_->by_name.find(name);
  return found == columns_->by_name.end() ? -1 : found->second;
}

int Schema::Index(std::string_view name, std::string_view what) const {
  const int index = Find(name);
  if (index >= 0) return index;
  std::vector<std::string_view> names;
  for (const Column& column : *this) names.push_back(column.name);
  const std::string near = Suggest(name, names);
  Fail("{}: there is no column '{}'{}", what, name,
       near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

Schema Schema::Select(std::span<const std::string> names, std::string_view what) const {
  std::vector<Column> chosen;
  for (const std::string& name : names) {
    const Column& column = (*this)[Index(name, what)];
    if (std::ranges::count(chosen, column) > 0) {
      Fail("{}: the column '{}' is asked for twice", what, name);
    }
    chosen.push_back(column);
  }
  return Schema(std::move(chosen));
}

uint64_t Schema::hash() const { return columns_->hash; }

std::string Schema::ToString() const {
  std::string text;
  for (const Column& column : *this) text += column.name + ": " + column.KindText() + "\n";
  return text;
}

bool operator==(const Schema& a, const Schema& b) {
  return a.columns_ == b.columns_ || a.columns() == b.columns();
}

std::string Difference(const Schema& wanted, const Schema& found) {
  for (int i = 0; i < std::max(wanted.size(), found.size()); ++i) {
    const auto text = [&](const Schema& schema) {
      return i < schema.size() ? fmt::format("'{}: {}'", schema[i].name, schema[i].KindText())
                               : std::string("none");
    };
    if (text(wanted) != text(found)) {
      return fmt::format("column {} is {}, wanted {}", i + 1, text(found), text(wanted));
    }
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, const Schema& schema) {
  return out << schema.ToString();
}

}  // namespace catamaran

#include "catamaran/data/text/csv_fields.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"

namespace catamaran {

namespace {

using FieldIndex = std::unordered_map<std::string_view, size_t>;

int64_t FieldsOf(const Column& column) {
  return column.kind == ColumnKind::kDense ? column.width() : 1;
}

// The fields x0, x1, … of a column x of several values; nothing if not all are there.
std::vector<size_t> NumberedFields(const Column& column, const FieldIndex& index) {
  for (const std::string_view between : {"", "_", "."}) {
    for (const int64_t first : {int64_t{0}, int64_t{1}}) {
      std::vector<size_t> fields;
      for (int64_t i = 0; i < column.width(); ++i) {
        const auto found = index.find(fmt::format("{}{}{}", column.name, between, first + i));
        if (found == index.end()) break;
        fields.push_back(found->second);
      }
      if (static_cast<int64_t>(fields.size()) == column.width()) return fields;
    }
  }
  return {};
}

}  // namespace

ColumnFields FieldsByName(const Schema& schema, const std::vector<std::string>& names,
                          const std::string& path) {
  FieldIndex index;
  std::vector<std::string_view> candidates;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!index.emplace(names[i], i).second) {
      Fail(ErrorCode::kBadData, "{}: two fields are named '{}'; give them other names", path,
           names[i]);
    }
    candidates.push_back(names[i]);
  }
  ColumnFields fields;
  for (const Column& column : schema) {
    const bool one = FieldsOf(column) == 1;
    if (const auto found = index.find(column.name); one && found != index.end()) {
      fields.push_back({found->second});
      continue;
    }
    if (!one && FieldsOf(column) <= static_cast<int64_t>(names.size())) {
      fields.push_back(NumberedFields(column, index));
      if (!fields.back().empty()) continue;
    }
    if (!one) {
      Fail("{}: column '{}' has {} values, but there are no fields {}0, {}1, … or {}1, {}2, …",
           path, column.name, column.width(), column.name, column.name, column.name, column.name);
    }
    const std::string near = Suggest(column.name, candidates);
    Fail("{}: there is no field '{}'; {}", path, column.name,
         near.empty() ? fmt::format("the fields are {}", fmt::join(names, ", "))
                      : fmt::format("did you mean '{}'?", near));
  }
  return fields;
}

bool HasFields(const Column& column, const std::vector<std::string>& names) {
  FieldIndex index;
  for (size_t i = 0; i < names.size(); ++i) index.emplace(names[i], i);
  return FieldsOf(column) == 1 ? index.contains(column.name)
                               : !NumberedFields(column, index).empty();
}

ColumnFields FieldsByPlace(const Schema& schema, size_t count, const std::string& path) {
  int64_t wanted = 0;
  for (const Column& column : schema) wanted += FieldsOf(column);
  if (wanted != static_cast<int64_t>(count)) {
    Fail("{}: the columns take {} fields, but the first row has {} and no names", path, wanted,
         count);
  }
  ColumnFields fields;
  size_t next = 0;
  for (const Column& column : schema) {
    auto& list = fields.emplace_back();
    for (int64_t i = 0; i < FieldsOf(column); ++i) list.push_back(next++);
  }
  return fields;
}

}  // namespace catamaran
